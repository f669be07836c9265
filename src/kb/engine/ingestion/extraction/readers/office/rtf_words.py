"""What the control words of RTF mean, as far as it bears on text."""

# What a group holds if it does not hold text of the body. What is not named here, and is marked as optional by `\*`,
# holds nothing for people.
NOTHING = "nothing"
BODY = "body"
NOTE = "note"
COMMENT = "comment"
MARGIN = "margin"
MARK = "mark"
STYLES = "styles"
STYLE = "style"
FONTS = "fonts"
DESTINATIONS = {
    # Beside the body.
    "footnote": NOTE,
    "annotation": COMMENT,
    "shptxt": NOTE,
    "dptxbxtext": NOTE,
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), MARGIN),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), MARGIN),
    "listtext": MARK,
    "pntext": MARK,
    # About the document.
    "stylesheet": STYLES,
    "fonttbl": FONTS,
    **{word: word for word in ("title", "subject", "author", "keywords", "creatim", "revtim")},
    # Text in something that holds none: what an object looks like, and the Unicode form of what is given twice.
    "result": BODY,
    "ud": BODY,
    # Containers of the above, and of nothing else that counts.
    **dict.fromkeys(("info", "object", "upr", "shpinst", "do", "shprslt"), NOTHING),
    **dict.fromkeys(
        ("colortbl", "pict", "nonshppict", "mmathPict", "fldinst", "operator", "doccomm", "company"), NOTHING
    ),
    **dict.fromkeys(("ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn"), NOTHING),
    **dict.fromkeys(("printim", "buptim", "manager", "category", "hlinkbase", "template", "nonesttables"), NOTHING),
    **dict.fromkeys(
        ("xe", "tc", "tcn", "rxe", "txe", "bkmkstart", "bkmkend", "listtable", "revtbl", "filetbl"), NOTHING
    ),
}
# Marked as optional, yet with text of the body in it.
TRANSPARENT = frozenset({"fldrslt", "moMath", "moMathPara"})

CHARACTERS = {
    "tab": "\t",
    "line": "\n",
    "lbr": "\n",
    "softline": "\n",
    "column": "\n",
    "emdash": "\u2014",
    "endash": "\u2013",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "bullet": "\u2022",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
}
SYMBOLS = {b"~": " ", b"_": "-"}

# Words that hold from where they stand to the end of their group, with what `\plain` and `\pard` take back.
OF_CHARACTERS = frozenset({"v", "deleted", "f"})
OF_PARAGRAPHS = frozenset({"s", "outlinelevel", "intbl", "pagebb"})
PROPERTIES = OF_CHARACTERS | OF_PARAGRAPHS | {"uc", "sbasedon", "yr", "mo", "dy", "hr", "min"}
