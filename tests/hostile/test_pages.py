"""A page of a hostile file is drawn, and not too large, or it is told why not."""

import struct
from pathlib import Path

from tests.amounts import IS_FULL, Tell
from tests.hostile.all_files import choose_generated, spread
from tests.hostile.hostile_file import CORRUPT, ENCRYPTED, LIMIT, TIMEOUT, HostileFile

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.page_picture import draw_page, has_pages

WIDTH, MAX_HEIGHT = 2000, 4000
CODES = {CORRUPT, ENCRYPTED, LIMIT, TIMEOUT}


def draw(file: HostileFile, folder: Path) -> str:
    """How it ended: with a code, or by how many pixels."""
    path = folder / "original"
    path.write_bytes(file.make())
    try:
        picture = draw_page(
            format_of(file), path, 1, width=WIDTH, find_stretches=lambda text: [(0, len(text))][: len(text)]
        )
    except Unreadable as refusal:
        return refusal.code
    width, height = struct.unpack(">2I", picture.png[16:24])
    assert 1 <= width <= WIDTH, file.filename
    assert 1 <= height <= MAX_HEIGHT, file.filename
    return "drawn"


def format_of(file: HostileFile) -> str:
    return file.filename.rpartition(".")[2]


def test_a_page_of_a_hostile_file_is_drawn_small_enough_or_refused(tmp_path: Path, tell: Tell) -> None:
    """W1, I5"""
    files = [file for kind in ("PDFs", "pictures") for file in choose_generated(kind) if has_pages(format_of(file))]

    endings = [draw(file, tmp_path) for file in (files if IS_FULL else spread(files, at_most=12))]

    assert set(endings) <= {"drawn", *CODES}
    assert {"drawn", CORRUPT} <= set(endings)
    tell(f"Hostile pages: {len(endings)}, {endings.count('drawn')} of them drawn")
