"""The route that checks what is stored."""

import threading
import time
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel

from kb.engine.api.answers import Time
from kb.engine.api.parameters import EngineDep
from kb.engine.errors import TooManyRequests
from kb.engine.integrity import check_integrity as check
from kb.engine.model import Damage, DamageKind, Scrub

router = APIRouter(tags=["upkeep"])


class CheckedAnswer(BaseModel):
    documents: int
    chunks: int
    vectors: int
    revisions: int
    originals: int
    bytes: int


class DamageAnswer(BaseModel):
    kind: DamageKind
    document_id: int | None
    message: str
    is_derived: bool

    @classmethod
    def of(cls, damage: Damage) -> "DamageAnswer":
        return cls(
            kind=damage.kind,
            document_id=damage.document_id,
            message=damage.message,
            is_derived=damage.is_derived,
        )


class ScrubAnswer(BaseModel):
    finished_at: Time
    problem_count: int

    @classmethod
    def of(cls, scrub: Scrub) -> "ScrubAnswer | None":
        if scrub.finished_at is None:
            return None
        return cls(finished_at=scrub.finished_at, problem_count=scrub.damage_count)


class IntegrityAnswer(BaseModel):
    status: Literal["ok", "damaged"]
    checked: CheckedAnswer
    problems: list[DamageAnswer]
    problem_count: int
    took_ms: float
    last_scrub: ScrubAnswer | None


@router.get("/integrity")
def check_integrity(engine: EngineDep, request: Request) -> IntegrityAnswer:
    """Check everything that is stored against its checksums and counts. Takes its time; only one runs at a time.

    The first thousand problems are listed. What is derived comes back with `POST /reindex`, the rest from a backup.
    """
    turn: threading.Lock = request.app.state.integrity_turn
    if not turn.acquire(blocking=False):
        raise TooManyRequests("A check is under way already. Ask again when it is done.")
    try:
        began = time.perf_counter()
        report = check(engine.store, engine.originals, is_stopping=engine.is_stopping)
        took_ms = (time.perf_counter() - began) * 1000
    finally:
        turn.release()
    scrub = engine.store.read_scrub()
    if scrub.damage_count and not report.damage_count:
        # It was repaired: the health report need not wait for the next check in the background.
        engine.store.write_scrub(Scrub(finished_at=engine.clock()))
    return IntegrityAnswer(
        status="damaged" if report.damage_count else "ok",
        checked=CheckedAnswer(**vars(report.checked)),
        problems=[DamageAnswer.of(damage) for damage in report.damages],
        problem_count=report.damage_count,
        took_ms=round(took_ms, 3),
        last_scrub=ScrubAnswer.of(scrub),
    )
