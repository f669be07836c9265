"""The numbers of lists and headings, as a document's reader sees them."""

_ROMAN = dict(m=1000, cm=900, d=500, cd=400, c=100, xc=90, l=50, xl=40, x=10, ix=9, v=5, iv=4, i=1)


def render_number(count: int, format: str) -> str:
    """In a format of Office Open XML (`upperRoman`) or OpenDocument (`I`); one that is not known counts 1, 2, 3."""
    match format:
        case "lowerLetter" | "upperLetter" | "a" | "A" if 0 < count <= 26 * 9:
            rendered = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        case "lowerRoman" | "upperRoman" | "i" | "I" if 0 < count < 4000:
            rendered = ""
            for letters, value in _ROMAN.items():
                rendered += letters * (count // value)
                count %= value
        case _:
            rendered = str(count)
    return rendered.upper() if format.startswith(("upper", "A", "I")) else rendered
