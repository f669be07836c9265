"""The formats that can be read: the module in `readers/` that reads each, what its files are called, and the module
that loads the pictures in them. That has a function `open_pictures(path)`, which gives another that loads a picture by
its name. Both raise `Unreadable`. A picture is in mode L, RGB or RGBA, and of a size that can be read at once.

What has pages that people can look at has a module that draws them; `page_child.py` tells what is asked of it.

A new format is one such module and one line here; one that is not text is also told apart in `detection.py`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    name: str
    reader: str
    extensions: tuple[str, ...]
    pictures: str | None = None
    pages: str | None = None


# Programs, and what is written for programs to read.
_CODE_EXTENSIONS = """
    py pyi pyx js mjs cjs jsx ts mts cts tsx vue svelte java kt kts scala groovy gradle clj cljs
    c h cc cpp cxx hh hpp hxx m mm cs fs vb go rs zig swift dart d pas f90 f95 asm s v sv vhd sol
    rb php pl pm lua r jl hs ml mli ex exs erl elm lisp el scm tcl nim
    sh bash zsh fish ps1 psm1 bat cmd awk sed sql
    css scss sass less xml xsd xsl xslt yaml yml toml ini cfg conf properties env tf hcl nix
    proto thrift graphql gql cmake mk dockerfile tex sty bib
"""

FORMATS = (
    Format("pdf", "pdf.pdf", (".pdf",), pictures="pdf.pictures", pages="pdf.pages"),
    Format("docx", "office.docx", (".docx", ".docm", ".dotx", ".dotm"), pictures="office.pictures"),
    Format("pptx", "office.pptx", (".pptx", ".pptm", ".potx", ".ppsx", ".ppsm"), pictures="office.pictures"),
    Format("xlsx", "office.xlsx", (".xlsx", ".xlsm", ".xltx", ".xltm")),
    Format("odt", "office.odt", (".odt", ".ott"), pictures="office.pictures"),
    Format("epub", "web.epub", (".epub",)),
    Format("rtf", "office.rtf", (".rtf",)),
    Format("html", "web.html", (".html", ".htm", ".xhtml")),
    Format("svg", "web.svg", (".svg",), pictures="pictures.svg_drawing", pages="pictures.svg_page"),
    Format("jpg", "pictures.picture", (".jpg", ".jpeg", ".jpe", ".jfif"), "pictures.frames", "pictures.pages"),
    Format("png", "pictures.picture", (".png",), "pictures.frames", "pictures.pages"),
    Format("tiff", "pictures.picture", (".tiff", ".tif"), "pictures.frames", "pictures.pages"),
    Format("webp", "pictures.picture", (".webp",), "pictures.frames", "pictures.pages"),
    Format("eml", "mail.eml", (".eml",), pictures="mail.pictures"),
    Format("md", "text.markdown", (".md", ".markdown", ".mdx", ".rmd", ".qmd")),
    Format("csv", "tables.csv", (".csv", ".tsv")),
    Format("json", "tables.json", (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb")),
    Format("code", "text.code", tuple(f".{extension}" for extension in _CODE_EXTENSIONS.split())),
    # A name that has no extension, or only begins with a dot, is README, Makefile, .env.
    Format(
        "txt",
        "text.plain_text",
        (".txt", ".text", ".log", ".rst", ".org", ".adoc", ".srt", ".vtt", ".diff", ".patch", ""),
    ),
)
READER_OF = {format.name: format.reader for format in FORMATS}
PICTURE_FORMATS = tuple(format.name for format in FORMATS if format.reader == "pictures.picture")
PICTURE_LOADER_OF = {format.name: format.pictures for format in FORMATS if format.pictures}
PAGE_DRAWER_OF = {format.name: format.pages for format in FORMATS if format.pages}
BY_EXTENSION = {extension: format.name for format in FORMATS for extension in format.extensions}


def supported_formats() -> list[str]:
    return sorted(READER_OF)
