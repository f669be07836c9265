"""Which hostile files are read: a selection within `make test`, all of them when all faults are asked for."""

from collections.abc import Callable, Iterable
from itertools import islice

from tests.amounts import IS_FULL
from tests.hostile.archives import hostile_archives
from tests.hostile.costs import hostile_costs
from tests.hostile.damage import damaged_samples, misnamed_samples
from tests.hostile.hostile_file import HostileFile
from tests.hostile.markup import hostile_markup
from tests.hostile.pdfs import hostile_pdfs
from tests.hostile.pictures import hostile_pictures
from tests.hostile.texts import hostile_texts

GENERATED: dict[str, Callable[[], Iterable[HostileFile]]] = {
    "archives": hostile_archives,
    "costs": hostile_costs,
    "markup": hostile_markup,
    "PDFs": hostile_pdfs,
    "pictures": hostile_pictures,
    "texts": hostile_texts,
}
FROM_SAMPLES: dict[str, Callable[[], Iterable[HostileFile]]] = {
    "damaged samples": damaged_samples,
    "misnamed samples": misnamed_samples,
}


def choose_generated(kind: str) -> list[HostileFile]:
    files = list(GENERATED[kind]())
    return files if IS_FULL else take_turns([file for file in files if not file.is_slow])


def take_turns(files: list[HostileFile]) -> list[HostileFile]:
    """Each harm in two of the formats that it is done to, and in other two each time."""
    by_harm: dict[str, list[HostileFile]] = {}
    for file in files:
        by_harm.setdefault(file.filename.rpartition(".")[0], []).append(file)
    chosen: list[HostileFile] = []
    for turn, same in enumerate(by_harm.values()):
        places = {turn % len(same), (turn + 1) % len(same)}
        chosen += [same[place] for place in sorted(places)]
    return chosen


def choose_from_samples(kind: str, *, at_most: int) -> list[HostileFile]:
    """Spread evenly over samples and kinds of damage."""
    files = list(FROM_SAMPLES[kind]())
    return files if IS_FULL else spread(files, at_most)


def spread(files: list[HostileFile], at_most: int) -> list[HostileFile]:
    # A step that shares no factor with the ways in which each sample is damaged meets all of them in turn.
    step = max(1, len(files) // at_most) | 1
    return list(islice(files, 0, None, step))
