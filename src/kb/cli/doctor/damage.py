"""What was found damaged, and what a person can do about each kind of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kb.cli.doctor import Check, Verdict

RESTORE = "Check the disk, then restore a backup: kb restore BACKUP"
ADVICE = {
    "original": "Add the same file again (kb add FILE), or copy it out of the `originals` of a backup.",
    "note": "Restore a backup (kb restore BACKUP), or add the note anew and delete the damaged one.",
    "revision": "The note itself is whole. Restore a backup if you need what it said then.",
    "document": "Restore a backup (kb restore BACKUP), or look at the document and set anew what is wrong.",
    "job": "Cancel the job, unless it has ended, and submit the same again: kb cancel ID",
    "structure": RESTORE,
}
DERIVED_ADVICE = "kb doctor --repair"


@dataclass(frozen=True)
class Problem:
    """As `GET /integrity` tells it."""

    kind: str
    message: str
    is_derived: bool


def check_damage(problems: Iterable[Problem], *, whole: str) -> Iterator[Check]:
    """One check a kind, the kinds that only a person can put right first: the others are made anew from those."""
    by_kind: dict[str, list[Problem]] = {}
    for problem in sorted(problems, key=lambda one: one.is_derived):
        by_kind.setdefault(problem.kind, []).append(problem)
    for kind, found in by_kind.items():
        more = f" And {len(found) - 1} more of this kind." if len(found) > 1 else ""
        advice = DERIVED_ADVICE if found[0].is_derived else ADVICE.get(kind, RESTORE)
        yield Check("contents", Verdict.WRONG, f"{found[0].message}{more}", advice)
    if not by_kind:
        yield Check("contents", Verdict.OK, whole)
