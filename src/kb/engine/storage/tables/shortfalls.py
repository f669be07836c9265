"""What workers lack, each for as long as it says so: a row of `meta`, `[until, sentence]` by worker."""

import json
from datetime import datetime

from kb.engine.storage.tables.claims import LONGEST_WAIT
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.meta import read_meta, write_meta
from kb.engine.storage.tables.rows import to_text

_KEY = "shortfalls"


class ShortfallsPart:
    """The part of the store that is about what workers lack."""

    _database: Database

    def report_shortfall(self, worker: str, shortfall: str | None, *, now: datetime, until: datetime) -> None:
        with self._database.write() as db:
            db.lock(_KEY)
            reports = _read_reports(db, now)
            reports.pop(worker, None)
            if shortfall is not None:
                reports[worker] = (to_text(until), shortfall)
            write_meta(db, _KEY, json.dumps(reports))

    def list_shortfalls(self, *, now: datetime) -> list[str]:
        with self._database.read() as db:
            return sorted({shortfall for _, shortfall in _read_reports(db, now).values()})


def _read_reports(db: Connection, now: datetime) -> dict[str, tuple[str, str]]:
    reports = json.loads(read_meta(db, _KEY) or "{}")
    # A moment further ahead was written down by a clock that was wrong.
    earliest, latest = to_text(now), to_text(now + LONGEST_WAIT)
    return {worker: (until, shortfall) for worker, (until, shortfall) in reports.items() if earliest < until <= latest}
