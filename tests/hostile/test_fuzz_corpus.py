"""The mutated files are what they are meant to be: the same each time, small, and odd below what would give them
away."""

import contextlib
import io
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.amounts import amount
from tests.bundles import unpack
from tests.hostile.containers import DOCX
from tests.hostile.fuzz_corpus import chance_of, fuzzed_file
from tests.hostile.fuzz_json import fuzzed_bundle
from tests.hostile.fuzz_words import WORDS
from tests.hostile.mutations import MAX_BYTES, MUTATIONS, Mutation, mutate
from tests.hostile.shells import mutate_inside
from tests.reading import SAMPLES

from kb.engine.errors import KbError

numbers = st.integers(0, 10**6)
contents = st.binary(min_size=1, max_size=2_000)


def test_a_file_is_made_from_its_number_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.hostile.fuzz_corpus", "7", "42"]
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}

    subprocess.run(command, cwd=tmp_path, env=environment, check=True)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        file.filename: file.content for file in map(fuzzed_file, (7, 42))
    }
    assert fuzzed_file(7) != fuzzed_file(42)


@pytest.mark.parametrize("mutation", MUTATIONS)
@given(number=numbers, content=contents)
@settings(max_examples=amount(selection=20, full=500), deadline=None)
def test_any_content_can_be_mutated(mutation: Mutation, number: int, content: bytes) -> None:
    assert isinstance(mutation(chance_of(number), content, WORDS["pdf"]), bytes)


@given(number=numbers, content=contents)
@settings(max_examples=amount(selection=50, full=500), deadline=None)
def test_a_mutated_file_is_neither_empty_nor_much_longer(number: int, content: bytes) -> None:
    assert 1 <= len(mutate(chance_of(number), content, WORDS["json"])) <= MAX_BYTES


def test_what_is_odd_within_an_archive_is_not_given_away_by_its_checksum() -> None:
    mutants = [_inside(number, DOCX.document(DOCX.paragraph % b"word"), "docx") for number in range(50)]

    for mutant in mutants:
        with zipfile.ZipFile(io.BytesIO(mutant)) as archive:
            assert archive.testzip() is None
    assert len(set(mutants)) > 40


def test_what_is_odd_within_a_picture_is_not_given_away_by_its_checksum() -> None:
    content = (SAMPLES / "png" / "meadow.png").read_bytes()
    mutants = [_inside(number, content, "png") for number in range(50)]

    assert len(set(mutants)) > 40
    assert sum(_is_a_picture(mutant) for mutant in mutants) > 10


def _is_a_picture(content: bytes) -> bool:
    try:
        Image.open(io.BytesIO(content)).load()
    except (OSError, ValueError, SyntaxError):
        return False
    return True


def test_what_is_odd_within_a_stream_leaves_the_pdf_in_its_place() -> None:
    content = (SAMPLES / "pdf" / "article-weasyprint.pdf").read_bytes()
    mutants = [_inside(number, content, "pdf") for number in range(50)]

    assert len(set(mutants)) > 40
    assert sum(_has_pages(mutant) for mutant in mutants) > 40


def _has_pages(content: bytes) -> bool:
    with contextlib.suppress(pypdfium2.PdfiumError), contextlib.closing(pypdfium2.PdfDocument(content)) as document:
        return len(document) > 0
    return False


def _inside(number: int, content: bytes, format: str) -> bytes:
    mutant = mutate_inside(chance_of(number), content, WORDS[format])
    assert mutant is not None
    return mutant


def test_a_bundle_is_refused_for_more_reasons_than_its_checksums() -> None:
    told = Counter(_tell(fuzzed_bundle(chance_of(number), number, b"content")) for number in range(200))

    assert len(told) > 15, told
    assert told["read"] > 5


def _tell(bundle: bytes) -> str:
    """In what words it is refused, without what is different each time."""
    try:
        unpack(bundle)
    except KbError as error:
        return re.sub(r"[0-9a-f]{64}|\d+", "N", error.message)[:100]
    return "read"
