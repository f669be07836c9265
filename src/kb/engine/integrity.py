"""Whether everything that was stored is still what it was: the base's rows, and the originals they refer to."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kb.engine.errors import Unavailable
from kb.engine.model import CheckCursor, Checked, Damage, DamageKind, UsedOriginal
from kb.engine.originals import DamagedOriginal, MissingOriginal, Originals, Watch
from kb.engine.ports import Store

# A base that is damaged all over needs no longer list, and an answer has to end somewhere.
MAX_LISTED = 1_000
# A check that takes no longer is finished, even if the program is told to stop meanwhile.
FINISHED_ANYWAY_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    checked: Checked
    damages: list[Damage]
    following: CheckCursor | None
    """Where to go on after it; None after the last."""


@dataclass(frozen=True)
class Report:
    checked: Checked
    damages: list[Damage]
    """The first of them."""
    damage_count: int


def check_integrity(store: Store, originals: Originals, *, is_stopping: Callable[[], bool] = lambda: False) -> Report:
    """Raises `Unavailable` soon after it is told to stop."""
    began = time.monotonic()
    checked, damages, damage_count = Checked(), list[Damage](), 0

    def watch() -> None:
        if is_stopping() and time.monotonic() - began > FINISHED_ANYWAY_SECONDS:
            raise Unavailable("The engine is stopping. Ask again when it is back.")

    for step in check_in_steps(store, originals, CheckCursor(), watch):
        checked += step.checked
        damages += step.damages[: MAX_LISTED - len(damages)]
        damage_count += len(step.damages)
        watch()
    return Report(checked, damages, damage_count)


def check_in_steps(store: Store, originals: Originals, cursor: CheckCursor, watch: Watch) -> Iterator[Step]:
    """Check everything from `cursor` on. Nothing is held or locked between two steps.

    The first is SQLite's check of the whole file, which takes 10 s for 500 MB; an original, however large, is one
    step too. While one has to be waited for, `watch` is called. All others are little work.
    """
    going_on: CheckCursor | None = cursor
    while going_on is not None:
        batch = store.check_batch(going_on)
        for used in batch.originals:
            checked, damages = _check_original(store, originals, used, watch)
            yield Step(checked, damages, going_on)
        going_on = batch.following
        yield Step(batch.checked, batch.damages, going_on)


def _check_original(
    store: Store, originals: Originals, used: UsedOriginal, watch: Watch
) -> tuple[Checked, list[Damage]]:
    try:
        return Checked(originals=1, bytes=originals.check(used.name, watch)), []
    except DamagedOriginal as error:
        # It may have been deleted, with all that referred to it, since its name was read.
        if isinstance(error, MissingOriginal) and not store.is_original_in_use(used.name):
            return Checked(), []
        return Checked(), [_damage_of(used, error.verdict)]


def _damage_of(used: UsedOriginal, verdict: str) -> Damage:
    owner = "a job" if used.document_id is None else f"document {used.document_id}"
    return Damage(DamageKind.ORIGINAL, used.document_id, f"The original of {owner} {verdict}: {used.name}.")
