"""Bundles that are almost right, many more than an engine is given: imported or refused, and the base is whole."""

import hashlib
import re
from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.amounts import Tell, amount
from tests.backends import SqliteBackend
from tests.bundles import NOW
from tests.consistency import assert_base_is_consistent, assert_originals_are_those_in_use
from tests.hostile.fuzz_corpus import chance_of
from tests.hostile.fuzz_json import fuzzed_bundle

from kb.engine.bundles.importing import import_bundle
from kb.engine.errors import InvalidRequest, TooLarge
from kb.engine.model import EmbeddingModel
from kb.engine.originals import FolderOriginals

BUNDLES = amount(selection=200, full=5_000)
MAX_FILE_BYTES = 1_000
# The one of the bundles, so that their vectors are as good as its own.
_MODEL = EmbeddingModel("tiny", dimension=4, window=32, fingerprint="tiny-1")
_CHANGING = re.compile(r"[0-9a-f-]{36,64}|\d+")


def test_a_bundle_that_is_almost_right_is_imported_or_refused_and_the_base_is_whole(tmp_path: Path, tell: Tell) -> None:
    """E21"""
    originals, told = FolderOriginals(tmp_path / "originals"), Counter[str]()
    with closing(SqliteBackend(tmp_path).open(_MODEL.fingerprint)) as store:
        for number in range(BUNDLES):
            content = hashlib.shake_256(b"%d" % number).digest(50)
            bundle = fuzzed_bundle(chance_of(number, "bundle"), number, content)
            try:
                import_bundle(
                    store,
                    originals,
                    [bundle[:700], bundle[700:]],
                    model=_MODEL,
                    max_file_bytes=MAX_FILE_BYTES,
                    clock=lambda: NOW,
                )
                told["read"] += 1
            except (InvalidRequest, TooLarge) as refusal:
                told[_CHANGING.sub("N", refusal.message)] += 1

    assert_base_is_consistent(tmp_path / "kb.sqlite")
    assert_originals_are_those_in_use(tmp_path)
    assert len(told) > 15
    tell(f"{BUNDLES} mutated bundles: {told['read']} imported, the others refused for {len(told) - 1} reasons")
