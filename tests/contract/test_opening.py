"""What an engine does with what it finds in its data directory."""

import shutil
from pathlib import Path

from tests.handmade_documents import digest

from kb.engine.wiring import EngineOptions, open_engine


def test_originals_whose_base_was_lost_are_moved_aside_and_not_swept_away(
    folder: Path, model_folder: Path, cache_dir: Path
) -> None:
    name = digest("precious")
    place = folder / "originals" / name[:2] / name
    place.parent.mkdir(parents=True)
    place.write_text("precious")

    for _ in range(2):
        with open_engine(EngineOptions(folder, model_folder, cache_dir / "graphs", max_file_bytes=1)) as engine:
            assert not engine.store.is_original_in_use(name)

    (aside,) = folder.glob("originals.unknown-*")
    assert (aside / name[:2] / name).read_text() == "precious"
    assert not place.exists()
    shutil.rmtree(aside)
