import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

ENDED = {
    "id": 7,
    "status": "completed",
    "type": "file",
    "filename": "tern.txt",
    "document_id": 3,
    "duplicate": False,
    "replaced": False,
    "chunks_created": 1,
}


@pytest.fixture
def failed_job(kb: Kb, tmp_path: Path) -> str:
    blank = tmp_path / "blank page.txt"
    blank.write_text(" \n ")
    return str(json.loads(kb("add", str(blank), "--json").stdout)["id"])


@pytest.fixture
def long_job(kb: Kb) -> Iterator[str]:
    """One that takes longer than the test."""
    text = "\n\n".join(f"Paragraph {number} of a very long story about sandpipers." for number in range(4_000))
    job_id = str(json.loads(kb("addnote", "-", "--no-wait", "--json", stdin=text).stdout)["id"])
    yield job_id
    kb("cancel", job_id)


@pytest.fixture
def ended_job(kb: Kb) -> str:
    return str(json.loads(kb("addnote", "The sandpiper runs", "--json").stdout)["id"])


def read_job(kb: Kb, job_id: str) -> dict[str, object]:
    return dict(json.loads(kb("jobs", job_id, "--json").stdout))


def test_jobs_are_listed_the_newest_first_one_a_line(kb: Kb, failed_job: str, ended_job: str) -> None:
    """C2, E5"""
    result = kb("jobs", "--limit", "2")

    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[:3] for row in rows] == [[ended_job, "completed", "1.0"], [failed_job, "failed", "0.0"]]
    assert rows[1][4:] == ["blank page.txt", "The file holds no text. Check that it is the one you meant to add."]
    assert "--offset 1" in kb("jobs", "--limit", "1").stderr


@pytest.mark.usefixtures("ended_job")
def test_the_list_can_be_narrowed_and_paged(kb: Kb, failed_job: str) -> None:
    page = json.loads(kb("jobs", "--status", "failed", "--limit", "1", "--json").stdout)
    nothing = kb("jobs", "--offset", "100000")

    assert (page["jobs"][0]["id"], page["limit"]) == (int(failed_job), 1)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "no such jobs" in nothing.stderr


def test_a_job_is_shown_in_full_with_its_error_and_what_to_do(kb: Kb, failed_job: str) -> None:
    uuid = str(read_job(kb, failed_job)["uuid"])

    by_number, by_uuid = kb("jobs", failed_job), kb("jobs", uuid)

    assert by_number.exit_code == 0
    assert by_number.stdout == by_uuid.stdout
    for told in ("blank page.txt", "failed", "no_text_found", f"kb retry {failed_job}"):
        assert told in by_number.stdout


def test_of_several_jobs_the_missing_one_is_told_and_the_others_shown(kb: Kb, ended_job: str) -> None:
    """C3"""
    result = kb("jobs", "999999", ended_job, "--json")

    assert result.exit_code == 3
    assert json.loads(result.stdout)["id"] == int(ended_job)
    assert "There is no job 999999." in result.stderr


def test_following_ends_when_the_jobs_have_and_one_that_failed_is_exit_code_7(kb: Kb, failed_job: str) -> None:
    """C3"""
    text = "\n\n".join(f"The dunlin probes beach {number} for worms." for number in range(100))
    longer = str(json.loads(kb("addnote", "-", "--no-wait", "--json", stdin=text).stdout)["id"])

    badly, well = kb("jobs", "--follow", failed_job, longer), kb("jobs", "--follow", longer)

    assert (badly.exit_code, well.exit_code) == (7, 0)
    assert "blank page.txt" in badly.stderr
    assert "The dunlin probes" in badly.stdout
    assert well.stdout == badly.stdout


def test_following_without_numbers_waits_for_all_that_have_not_ended(kb: Kb) -> None:
    job_id = str(json.loads(kb("addnote", "The knot flocks", "--no-wait", "--json").stdout)["id"])

    result = kb("jobs", "--follow", "--json")

    assert result.exit_code == 0
    assert read_job(kb, job_id)["status"] == "completed"
    assert kb("jobs", "--follow").stderr == "There is no job that has not ended.\n"


def test_on_a_terminal_following_shows_a_bar_and_then_the_result(
    running_engine: EngineProgram, failed_job: str, ended_job: str, tmp_path: Path
) -> None:
    """C2"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})

    with OnTerminal("jobs", "--follow", failed_job, ended_job, environment=environment) as terminal:
        code = terminal.wait()

    assert code == 7
    assert "0 of 2 jobs" in terminal.output
    # Where the bar was, which is gone.
    assert "\x1b[2Kblank page.txt: The file holds no text." in terminal.output


class ManyJobs:
    """An engine with 3,000 jobs. Does 500 when it is asked for all or for what is done, those in `slow` last."""

    def __init__(self, slow: set[int]) -> None:
        self._ids = range(3_000, 0, -1)
        self._queue = [*sorted({*self._ids} - slow), *sorted(slow)]
        self._completed: set[int] = set()
        self.requests = 0

    def __call__(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        self.requests += 1
        url = httpx.URL(path)
        kind, _, job_id = url.path.removeprefix("/api/v1/").partition("/")
        if kind != "jobs":
            return 200, {}
        if job_id:
            return 200, self._job(int(job_id))
        status = url.params.get("status")
        if status in {None, "completed"}:
            self._completed.update(self._queue[:500])
            del self._queue[:500]
        wanted = [one for one in self._ids if status in {None, self._status(one)}]
        offset = int(url.params.get("offset", 0))
        return 200, {"jobs": [self._job(one) for one in wanted[offset:][:1_000]], "total": len(wanted)}

    def _status(self, job_id: int) -> str:
        return "completed" if job_id in self._completed else "queued"

    def _job(self, job_id: int) -> dict[str, object]:
        progress = {"progress": 0.0, "message": "", "current_step": "", "error": None}
        result = {"document_id": job_id, "duplicate": False, "replaced": False, "chunks_created": 1}
        named = {"id": job_id, "type": "file", "filename": f"{job_id}.txt"}
        return {**named, "status": self._status(job_id), **progress, **result}


@pytest.mark.parametrize("slow", [set(), {1, 2, 3, 4}])
def test_thousands_of_jobs_are_followed_with_few_questions(kb: Kb, slow: set[int]) -> None:
    many = ManyJobs(slow)

    with scripted_engine(many) as url:
        result = kb("jobs", "--follow", KB_ENGINE_URL=url)

    told = [int(line.split()[1]) for line in result.stdout.splitlines()]
    assert (result.exit_code, sorted(told)) == (0, [*range(1, 3_001)])
    assert many.requests < 150
    assert slow <= set(told[-500:])


def test_a_job_that_is_forgotten_meanwhile_is_told_and_so_are_the_others(kb: Kb) -> None:
    """C3"""
    asked: list[str] = []

    def forget(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        asked.append(path)
        if path == "/api/v1/jobs/7" and asked.count(path) > 1:
            return 404, {"code": "job_not_found", "detail": "There is no job 7."}
        return 200, {**ENDED, "id": int(path[-1])} if path[-1].isdigit() else {}

    with scripted_engine(forget) as url:
        result = kb("jobs", "--follow", "7", "8", KB_ENGINE_URL=url)

    assert (result.exit_code, result.stdout) == (3, "Document 3 added: tern.txt (1 chunk)\n")
    assert "There is no job 7." in result.stderr


def test_following_outlasts_an_engine_that_is_away_for_a_moment(kb: Kb) -> None:
    """E24"""
    asked: list[str] = []

    def hang_up_once(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if path == "/api/v1/jobs/7":
            asked.append(path)
            return None if len(asked) == 2 else (200, ENDED)
        return 200, {}

    with scripted_engine(hang_up_once) as url:
        result = kb("jobs", "--follow", "7", "--json", KB_ENGINE_URL=url)

    assert (result.exit_code, json.loads(result.stdout)) == (0, ENDED)
    assert "Waiting for it to come back" in result.stderr


def test_a_job_is_cancelled_and_taken_up_again(kb: Kb, long_job: str) -> None:
    """E7"""
    cancelled = json.loads(kb("cancel", long_job, "--json").stdout)
    queued = json.loads(kb("retry", long_job, "--no-wait", "--json").stdout)
    told = kb("cancel", long_job)

    assert (cancelled["status"], queued["status"]) == ("cancelled", "queued")
    assert told.exit_code == 0
    assert f"Job {long_job} cancelled: note" in told.stdout
    assert read_job(kb, long_job)["status"] == "cancelled"


@pytest.mark.parametrize("command", ["cancel", "retry"])
def test_what_cannot_be_done_to_one_job_is_told_and_the_next_one_tried(
    kb: Kb, ended_job: str, long_job: str, command: str
) -> None:
    """C3"""
    if command == "retry":
        kb("cancel", long_job)

    both = kb(command, ended_job, "999999", long_job, *(["--no-wait"] if command == "retry" else []))
    missing = kb(command, "999999")

    assert (both.exit_code, missing.exit_code) == (4, 3)
    assert f"Job {ended_job} " in both.stderr
    assert "There is no job 999999." in both.stderr
    assert f"Job {long_job} " in both.stdout


def test_all_jobs_are_cancelled_only_when_somebody_says_so(kb: Kb, long_job: str) -> None:
    """C5"""
    refused = kb("cancel", "--all")
    status_then = read_job(kb, long_job)["status"]
    done = kb("cancel", "--all", "--yes")

    assert refused.exit_code == 4
    assert "--yes" in refused.stderr
    assert status_then in ("queued", "running")
    assert done.exit_code == 0
    assert read_job(kb, long_job)["status"] == "cancelled"
    assert kb("cancel", "--all").stderr == "There is no job that has not ended.\n"


def test_of_all_jobs_some_may_end_by_themselves_before_they_are_cancelled(kb: Kb) -> None:
    def end(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if method == "GET":
            return 200, {"jobs": [{"id": 7, "status": "running"}], "total": 1}
        return 409, {"code": "job_finished", "detail": "Job 7 has already ended."}

    with scripted_engine(end) as url:
        of_all, by_number = kb("cancel", "--all", "--yes", KB_ENGINE_URL=url), kb("cancel", "7", KB_ENGINE_URL=url)

    assert (of_all.exit_code, of_all.stderr) == (0, "")
    assert (by_number.exit_code, by_number.stderr) == (4, "Job 7 has already ended.\n")


def test_all_that_failed_are_tried_again_and_waited_for(kb: Kb, failed_job: str) -> None:
    before = read_job(kb, failed_job)["attempts"]

    result = kb("retry", "--failed")

    job = read_job(kb, failed_job)
    assert result.exit_code == 7
    assert "blank page.txt" in result.stderr
    assert (job["status"], job["attempts"]) == ("failed", int(str(before)) + 1)


def test_a_job_whose_file_is_forgotten_is_not_retried(kb: Kb, running_engine: EngineProgram, failed_job: str) -> None:
    httpx.post(f"{running_engine.url}/api/v1/jobs/{failed_job}/cancel?forget=true", trust_env=False, timeout=60)

    result = kb("retry", failed_job)

    assert result.exit_code == 4
    assert "Add it again" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["cancel"],
        ["retry"],
        ["cancel", "1", "--all"],
        ["retry", "1", "--failed"],
        ["jobs", "--status", "lost"],
        ["jobs", "1", "--status", "failed"],
        ["jobs", "--follow", "--offset", "1"],
    ],
)
def test_what_makes_no_sense_is_exit_code_2(kb: Kb, arguments: list[str]) -> None:
    """C3"""
    result = kb(*arguments, KB_ENGINE_URL="http://127.0.0.1:1")

    assert (result.exit_code, result.stdout) == (2, "")
