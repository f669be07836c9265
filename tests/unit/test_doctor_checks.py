"""What `kb doctor` makes of what it is told."""

from collections.abc import Sequence
from typing import Any

from kb.cli.doctor import Check, Verdict, worst_of
from kb.cli.doctor.damage import Problem, check_damage
from kb.cli.doctor.engine import check_queue, check_status
from kb.cli.render.doctor import describe
from kb.version import VERSION

QUEUE = {"queued": 1, "running": 1, "failed": 0}


def tell(issues: Sequence[str] = (), *, loaded: bool = True, vectors: int = 2, **others: Any) -> dict[str, Check]:
    status = {
        "version": VERSION,
        "access": "write",
        "model": {"name": "a-model", "loaded": loaded},
        "documents": {"total": 1},
        "chunks": 2,
        "vectors": vectors,
        "health": {"issues": list(issues)},
    }
    checks = list(check_status({**status, **others}, "http://engine"))
    found = {check.name: check for check in checks}
    assert len(found) == len(checks)
    return found


def test_an_engine_in_good_health_gives_no_reason_to_worry() -> None:
    assert worst_of(tell().values()) is Verdict.OK


def test_what_has_a_check_of_its_own_is_told_once() -> None:
    told = tell(["The model is loading.", "Some chunks have no vectors."], loaded=False, vectors=1)

    assert [name for name, check in told.items() if check.status is Verdict.WARNING] == ["model", "counts"]
    assert "health" not in told


def test_any_other_issue_of_the_engine_is_told_in_its_own_words() -> None:
    assert tell(["The disk is nearly full."])["health"].message == "The disk is nearly full."


def test_another_version_and_a_key_that_only_reads_are_warnings() -> None:
    told = tell(version="3.1.0", access="read")

    assert told["engine"].status is Verdict.WARNING
    assert "3.1.0" in told["engine"].message
    assert told["key"].status is Verdict.WARNING


def test_a_job_that_runs_for_hours_is_named_with_the_command_that_ends_it() -> None:
    jobs: list[dict[str, Any]] = [
        {"id": 7, "elapsed_seconds": 7200.0},
        {"id": 8, "elapsed_seconds": 10.0},
        {"id": 9, "elapsed_seconds": None},
    ]

    (check,) = check_queue(QUEUE, jobs)

    assert check.message == "Job 7 has been running for 120 minutes"
    assert check.advice is not None
    assert check.advice.endswith("kb cancel 7")


def test_a_queue_at_work_is_well() -> None:
    (check,) = check_queue(QUEUE, [])

    assert check.status is Verdict.OK


def test_damage_is_told_by_kind_and_first_what_only_a_person_can_put_right() -> None:
    vectors = [Problem("vector", f"The vector of chunk {number} is damaged.", is_derived=True) for number in range(3)]
    note = Problem("note", "The text of note 5 has changed.", is_derived=False)

    first, second = check_damage([*vectors, note], whole="")

    assert first.message == "The text of note 5 has changed."
    assert second.message == "The vector of chunk 0 is damaged. And 2 more of this kind."
    assert second.advice == "kb doctor --repair"


def test_damage_of_a_kind_that_is_not_known_here_asks_for_a_backup() -> None:
    (check,) = check_damage([Problem("new", "Something new is damaged.", is_derived=False)], whole="")

    assert check.advice is not None
    assert "kb restore" in check.advice


def test_the_worst_check_is_the_verdict() -> None:
    well, warned = Check("a", Verdict.OK, ""), Check("b", Verdict.WARNING, "")

    assert describe([well])["status"] == "ok"
    assert describe([well, warned, well])["status"] == "warning"
    assert describe([warned, Check("c", Verdict.WRONG, "")])["status"] == "wrong"
