"""Printed pages whose words are known, by which the reading of pictures is measured.

Drawn anew each time, with fonts of our own (`samples/fonts`), so that they are the same everywhere.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from tests.extraction.ocr import printed_texts as texts

FONTS = Path(__file__).parents[2] / "samples" / "fonts"
SANS = "DejaVuSans.ttf"
SERIF = "DejaVuSerif.ttf"
BOOK = "PrintedSerif.ttf"
CHINESE = "NotoSansCJKsc.otf"

A4_INCHES = (8.27, 11.69)
POINTS_PER_INCH = 72
# In heights of the letters.
LEADING = 1.35
PARAGRAPH_SPACE = 0.7

SOFT_HYPHEN = "\u00ad"
HAN = re.compile("[\u4e00-\u9fff]")
CHINESE_LINE = 26


@dataclass(frozen=True)
class PrintedPage:
    name: str
    picture: Image.Image
    text: str
    """In the order in which a person reads it out. Rows of a table are lines."""
    is_columned: bool = False


@dataclass(frozen=True)
class SetLine:
    text: str
    indent: float
    is_last: bool
    """Of its paragraph."""


class Sheet:
    """Paper to print on, with lengths in points. Each `print_` goes on below what was printed last."""

    def __init__(self, *, dpi: int, font: str, size: float, inches: tuple[float, float] = A4_INCHES) -> None:
        self.dots_per_point = dpi / POINTS_PER_INCH
        self.width, self.height = (POINTS_PER_INCH * length for length in inches)
        self.ink = 20
        self.picture = Image.new("L", (round(inches[0] * dpi), round(inches[1] * dpi)), 255)
        self.draw = ImageDraw.Draw(self.picture)
        self.margin = 0.11 * self.width
        self.y = self.margin
        self.set_font(font, size)

    def set_font(self, name: str, size: float) -> None:
        self.size = size
        self.font = ImageFont.truetype(FONTS / name, round(size * self.dots_per_point))

    def fill(self, left: float, top: float, right: float, bottom: float, shade: int) -> None:
        self.draw.rectangle([self.dots_per_point * length for length in (left, top, right, bottom)], fill=shade)

    def length(self, text: str) -> float:
        return self.font.getlength(text) / self.dots_per_point

    def put(self, x: float, y: float, text: str) -> None:
        self.draw.text((x * self.dots_per_point, y * self.dots_per_point), text, font=self.font, fill=self.ink)

    def put_justified(self, x: float, y: float, text: str, width: float) -> None:
        words = text.split(" ")
        space = (width - sum(map(self.length, words))) / max(1, len(words) - 1)
        for word in words:
            self.put(x, y, word)
            x += self.length(word) + space

    def print_line(self, text: str, *, x: float | None = None) -> None:
        """In the middle of the sheet unless it is told where."""
        self.put((self.width - self.length(text)) / 2 if x is None else x, self.y, text)
        self.y += LEADING * self.size

    def print_paragraphs(self, paragraphs: Sequence[str]) -> None:
        """Ragged, with a little space between."""
        for paragraph in paragraphs:
            for line in self.set_lines(paragraph, self.width - 2 * self.margin):
                self.print_line(line.text, x=self.margin)
            self.y += PARAGRAPH_SPACE * self.size

    def print_columns(self, paragraphs: Sequence[str], *, count: int, gutter: float, indent: float = 0) -> None:
        """Justified, with the lines of all paragraphs running on from each column to the next."""
        width = (self.width - 2 * self.margin - (count - 1) * gutter) / count
        lines = [line for paragraph in paragraphs for line in self.set_lines(paragraph, width, indent)]
        column_lines = -(-len(lines) // count)
        for number, line in enumerate(lines):
            column, row = divmod(number, column_lines)
            x = self.margin + column * (width + gutter) + line.indent
            y = self.y + row * LEADING * self.size
            if line.is_last:
                self.put(x, y, line.text)
            else:
                self.put_justified(x, y, line.text, width - line.indent)
        self.y += column_lines * LEADING * self.size

    def set_lines(self, paragraph: str, width: float, indent: float = 0) -> list[SetLine]:
        lines: list[SetLine] = []
        line = ""
        room = width - indent
        for word in paragraph.split(" "):
            parts = word.split(SOFT_HYPHEN)
            starts = ["".join(parts[:cut]) + "-" * (cut < len(parts)) for cut in range(len(parts), 0, -1)]
            start = next((start for start in starts if self.length(f"{line} {start}") <= room), "")
            if start == starts[0]:
                line = f"{line} {start}".lstrip()
                continue
            lines.append(SetLine(f"{line} {start}".strip(), 0 if lines else indent, is_last=False))
            line, room = "".join(parts).removeprefix(start.removesuffix("-")), width
        return [*lines, SetLine(line, 0 if lines else indent, is_last=True)]


def print_pages() -> Iterator[PrintedPage]:
    yield print_prose("one column", texts.SLUICE, font=BOOK, size=12)
    yield print_columns("two columns", texts.LIGHTHOUSE, count=2, gutter=18, indent=11)
    yield print_columns("three columns", texts.NOTICES, count=3, gutter=13)
    yield print_article()
    yield print_prose("small print", texts.TERMS, font=SANS, size=7, dpi=200)
    yield turn(print_prose("skewed", texts.LETTER, font=SERIF, size=11), 3)
    yield turn(print_columns("skewed columns", texts.GLACIER, count=2, gutter=20, indent=11), -2.5)
    yield turn(print_prose("turned by 90 degrees", texts.BAKERY, font=BOOK, size=12), 90)
    yield turn(print_prose("turned by 180 degrees", texts.TRAIN, font=BOOK, size=12), 180)
    yield print_faintly()
    yield print_poor_copy()
    yield print_table()
    yield print_table_of_long_cells()
    yield print_receipt()
    yield print_screen()
    yield print_prose("German and French", (*texts.GERMAN, *texts.FRENCH), font=SERIF, size=11)
    yield print_chinese()


def print_prose(name: str, paragraphs: Sequence[str], *, font: str, size: float, dpi: int = 150) -> PrintedPage:
    sheet = Sheet(dpi=dpi, font=font, size=size)
    sheet.print_paragraphs(paragraphs)
    return PrintedPage(name, sheet.picture, "\n\n".join(paragraphs))


def print_columns(name: str, paragraphs: Sequence[str], *, count: int, gutter: float, indent: float = 0) -> PrintedPage:
    sheet = Sheet(dpi=150, font=BOOK, size=11)
    sheet.print_columns(paragraphs, count=count, gutter=gutter, indent=indent)
    text = "\n\n".join(paragraphs).replace(SOFT_HYPHEN, "")
    return PrintedPage(name, sheet.picture, text, is_columned=True)


def print_article() -> PrintedPage:
    """Two columns under a heading, with a footnote across and the number of the page."""
    sheet = Sheet(dpi=200, font=SERIF, size=20)
    sheet.print_line(texts.BEES_HEADING)
    sheet.y += 14
    sheet.set_font(SERIF, 9.5)
    sheet.print_columns(texts.BEES, count=2, gutter=18)
    sheet.y += 14
    sheet.set_font(SERIF, 8)
    sheet.print_paragraphs([texts.BEES_FOOTNOTE])
    sheet.y = sheet.height - 60
    sheet.print_line("117")
    text = "\n".join((texts.BEES_HEADING, *texts.BEES, texts.BEES_FOOTNOTE, "117"))
    return PrintedPage("two columns under a heading", sheet.picture, text, is_columned=True)


def turn(page: PrintedPage, degrees: float) -> PrintedPage:
    """Against the clock."""
    turned = page.picture.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    return replace(page, picture=turned)


def print_faintly() -> PrintedPage:
    """Grey on grey, with noise."""
    page = print_prose("low contrast", texts.CARBON, font=BOOK, size=13)
    shades = 160 + np.asarray(page.picture, dtype=np.float32) * (40 / 255)
    return replace(page, picture=_to_picture(shades + _make_noise(shades.shape)))


def print_poor_copy() -> PrintedPage:
    """Not quite straight, blurred, darker towards one side, full of specks, and saved with great loss."""
    page = turn(print_prose("poor copy", texts.COPY, font=BOOK, size=12), 1.3)
    shades = np.array(page.picture.filter(ImageFilter.GaussianBlur(1.3)), dtype=np.float32)
    shades *= np.linspace(0.95, 0.6, shades.shape[1], dtype=np.float32)
    shades[_make_noise(shades.shape) > 20] = 60
    saved = io.BytesIO()
    _to_picture(shades).save(saved, "JPEG", quality=25)
    return replace(page, picture=Image.open(saved))


def _make_noise(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(6).normal(0, 7, shape)


def _to_picture(shades: np.ndarray) -> Image.Image:
    return Image.fromarray(shades.clip(0, 255).astype(np.uint8))


def print_table() -> PrintedPage:
    """Numbers to the right, with lines between the rows and cells that are empty."""
    sheet = Sheet(dpi=150, font=SANS, size=10)
    sheet.print_line(texts.TABLE_HEADING, x=sheet.margin)
    sheet.y += 12
    edges = [sheet.margin + offset for offset in (0, 105, 180, 255, 330)]
    for row in texts.TABLE:
        sheet.fill(sheet.margin, sheet.y - 4, sheet.width - sheet.margin, sheet.y - 3.5, 120)
        for number, (cell, left) in enumerate(zip(row, edges, strict=True)):
            is_number = 0 < number < len(row) - 1
            sheet.put(left + (62 - sheet.length(cell) if is_number else 0), sheet.y, cell)
        sheet.y += 20
    sheet.y += 12
    sheet.print_line(texts.TABLE_NOTE, x=sheet.margin)
    return PrintedPage(
        "table", sheet.picture, "\n".join((texts.TABLE_HEADING, *map(_render, texts.TABLE), texts.TABLE_NOTE))
    )


def print_table_of_long_cells() -> PrintedPage:
    """Cells of several lines in a grid."""
    sheet = Sheet(dpi=150, font=SERIF, size=10)
    sheet.print_line(texts.BERTHS_HEADING, x=sheet.margin)
    sheet.y += 12
    edges = [sheet.margin + offset for offset in (0, 90, 330, sheet.width - 2 * sheet.margin)]
    top = sheet.y
    for row in texts.BERTHS:
        start = sheet.y
        bottoms = []
        for cell, left, right in zip(row, edges, edges[1:], strict=False):
            sheet.y = start + 5
            for line in sheet.set_lines(cell, right - left - 12):
                sheet.print_line(line.text, x=left + 6)
            bottoms.append(sheet.y)
        sheet.y = max(bottoms) + 5
        sheet.fill(edges[0], start, edges[-1], start + 0.7, 60)
    for edge in edges:
        sheet.fill(edge, top, edge + 0.7, sheet.y, 60)
    text = "\n".join((texts.BERTHS_HEADING, *map(_render, texts.BERTHS)))
    return PrintedPage("table of long cells", sheet.picture, text)


def print_receipt() -> PrintedPage:
    """A narrow strip of paper, with the prices at its right edge."""
    sheet = Sheet(dpi=200, font=SANS, size=8, inches=(2.8, 4.6))
    for line in texts.RECEIPT_HEAD:
        sheet.print_line(line)
    sheet.y += 8
    for name, price in texts.RECEIPT:
        sheet.put(sheet.width - sheet.margin - sheet.length(price), sheet.y, price)
        sheet.print_line(name, x=sheet.margin)
        sheet.y += 3
    sheet.y += 8
    for line in texts.RECEIPT_FOOT:
        sheet.print_line(line)
    text = "\n".join((*texts.RECEIPT_HEAD, *map(_render, texts.RECEIPT), *texts.RECEIPT_FOOT))
    return PrintedPage("receipt", sheet.picture, text)


def _render(row: Sequence[str]) -> str:
    return re.sub(r"[ |]+\Z", "", " | ".join(row))


def print_screen() -> PrintedPage:
    """A dark window with a menu at its left and letters that are 13 pixels high."""
    sheet = Sheet(dpi=96, font=SANS, size=9.75, inches=(8.5, 5))
    sheet.fill(0, 0, sheet.width, sheet.height, 40)
    sheet.fill(0, 24, 120, sheet.height, 28)
    sheet.ink = 225
    sheet.put(16, 6, texts.SCREEN_TITLE)
    for number, line in enumerate(texts.SCREEN_MENU):
        sheet.put(16, 40 + 26 * number, line)
    for number, line in enumerate(texts.SCREEN):
        sheet.put(150, 47 + 32 * number, line)
    left = 330.0
    for label in texts.SCREEN_BUTTONS:
        sheet.fill(left - 12, 312, left + sheet.length(label) + 12, 336, 80)
        sheet.put(left, 317, label)
        left += sheet.length(label) + 40
    text = "\n".join((texts.SCREEN_TITLE, *texts.SCREEN_MENU, *texts.SCREEN, *texts.SCREEN_BUTTONS))
    return PrintedPage("screenshot", sheet.picture, text)


def print_chinese() -> PrintedPage:
    sheet = Sheet(dpi=150, font=CHINESE, size=15)
    for paragraph in texts.CHINESE:
        length = CHINESE_LINE if HAN.search(paragraph) else len(paragraph)
        for start in range(0, len(paragraph), length):
            sheet.print_line(paragraph[start : start + length], x=sheet.margin)
        sheet.y += 10
    return PrintedPage("Chinese and English", sheet.picture, "\n".join(texts.CHINESE))
