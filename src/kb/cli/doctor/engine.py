"""Checks of an engine that answers: what it says of itself, and what it finds when it reads everything it has."""

from collections.abc import Iterator, Sequence

import httpx

from kb.cli.doctor import Check, Verdict
from kb.cli.doctor.damage import Problem
from kb.cli.render.terminal import Json, counted, readable_size
from kb.client import EngineClient
from kb.version import VERSION

# Reading a long scan takes minutes; nothing takes an hour.
STUCK_AFTER_SECONDS = 3600.0


def check_status(status: Json, url: str) -> Iterator[Check]:
    yield _check_version(status["version"], url)
    if status.get("access") == "read":
        yield Check("key", Verdict.WARNING, "This key can only read", "Set KB_API_KEY to the key that can also write.")
    own = [*_check_model(status["model"]), *_check_vectors(status)]
    yield from own
    # Two issues that the engine names have checks of their own.
    explained = sum(check.status is not Verdict.OK for check in own)
    issues = status["health"]["issues"]
    if len(issues) > explained:
        yield from (Check("health", Verdict.WARNING, issue, "The engine's log may tell more.") for issue in issues)
    elif not issues:
        yield Check("health", Verdict.OK, "The engine names no issue")


def _check_version(version: str, url: str) -> Check:
    if version == VERSION:
        return Check("engine", Verdict.OK, f"version {version} at {url}")
    told = f"version {version} at {url}; this is kb {VERSION}"
    return Check("engine", Verdict.WARNING, told, "They understand each other. Install the newer one in both places.")


def _check_model(model: Json) -> Iterator[Check]:
    if model["loaded"]:
        yield Check("model", Verdict.OK, f"{model['name']} is loaded")
    else:
        advice = (
            "It takes some seconds after the start. If this stays, look at the engine's log, and try kb model fetch"
        )
        yield Check("model", Verdict.WARNING, f"{model['name']} is not loaded: searches go by words only", advice)


def _check_vectors(status: Json) -> Iterator[Check]:
    documents, chunks, vectors = status["documents"]["total"], status["chunks"], status["vectors"]
    told = f"{counted(documents, 'document')}, {counted(chunks, 'chunk')}, {counted(vectors, 'vector')}"
    if chunks == vectors:
        yield Check("counts", Verdict.OK, told)
    else:
        advice = "The engine is making the others. If the number stays: kb doctor --repair"
        yield Check("counts", Verdict.WARNING, f"{told}: what has no vector is found by words only", advice)


def check_queue(queue: Json, running: Sequence[Json]) -> Iterator[Check]:
    stuck = [job for job in running if (job["elapsed_seconds"] or 0) > STUCK_AFTER_SECONDS]
    if queue["failed"]:
        advice = "`kb jobs --status failed` tells why; then kb retry ID"
        yield Check("queue", Verdict.WARNING, f"{counted(queue['failed'], 'job')} failed", advice)
    for job in stuck:
        told = f"Job {job['id']} has been running for {job['elapsed_seconds'] / 60:.0f} minutes"
        yield Check("queue", Verdict.WARNING, told, f"If it does not move: kb cancel {job['id']}")
    if not queue["failed"] and not stuck:
        yield Check("queue", Verdict.OK, f"{queue['queued']} queued, {queue['running']} running, none failed")


async def find_problems(engine: EngineClient) -> tuple[list[Problem], str]:
    """And in a few words what was read. Raises `CheckUnderWay`."""
    try:
        report = await engine.check_integrity()
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.TOO_MANY_REQUESTS:
            raise
        raise CheckUnderWay from error
    problems = [Problem(one["kind"], one["message"], one["is_derived"]) for one in report["problems"]]
    checked = report["checked"]
    read = f"{readable_size(checked['bytes'])} of {counted(checked['documents'], 'document')}"
    return problems, f"{read} read and found as they were written"


class CheckUnderWay(Exception):
    """Somebody else has the engine read everything just now."""
