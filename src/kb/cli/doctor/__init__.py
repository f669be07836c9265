"""What `kb doctor` looks at. Each part answers with checks, which say what to do where something is not well."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Check:
    name: str
    status: Verdict
    message: str
    advice: str | None = None


def worst_of(checks: Iterable[Check]) -> Verdict:
    found = {check.status for check in checks}
    return next((verdict for verdict in (Verdict.WRONG, Verdict.WARNING) if verdict in found), Verdict.OK)
