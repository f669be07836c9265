"""The route that Prometheus asks: numbers about the base, the queue, the requests and the process.

Requests and searches are counted here while the engine runs. Written by hand: the format is lines of text, and a
library for it would be one more to trust. No number has a label that tells of the user's documents.
"""

import bisect
import resource
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.engine.api.errors import METHODS
from kb.engine.api.events import Feed
from kb.engine.api.parameters import EngineDep
from kb.engine.model import JobStatus
from kb.engine.wiring import Engine
from kb.version import VERSION

router = APIRouter(tags=["status"])

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# In seconds. A search takes milliseconds, a note of a million characters a minute.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
# Whatever callers can choose freely must not become a label: each new value is kept for as long as the engine runs.
OTHER = "other"


def render_sample(name: str, value: float, labels: Mapping[str, str] = {}) -> str:
    """One line in the text format of Prometheus."""
    named = ",".join(f'{label}="{_escape(text)}"' for label, text in labels.items())
    return f"{name}{{{named}}} {value:.17g}" if named else f"{name} {value:.17g}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Durations:
    """A histogram: for each value of its label, how many took at most so long."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._counts: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, value: str, seconds: float) -> None:
        with self._lock:
            counts = self._counts.setdefault(value, [0] * (len(BUCKETS) + 1))
            counts[bisect.bisect_left(BUCKETS, seconds)] += 1
            self._seconds[value] = self._seconds.get(value, 0.0) + seconds

    def render(self, name: str) -> Iterator[str]:
        with self._lock:
            counts = {value: list(counts) for value, counts in self._counts.items()}
            seconds = dict(self._seconds)
        for value, per_bucket in counts.items():
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), per_bucket, strict=True):
                total += count
                yield render_sample(f"{name}_bucket", total, {self._label: value, "le": bound})
            yield render_sample(f"{name}_sum", seconds[value], {self._label: value})
            yield render_sample(f"{name}_count", total, {self._label: value})


class Measurements:
    def __init__(self) -> None:
        self.started_at = time.time()
        self.search_seconds = Durations("mode")
        self.request_seconds = Durations("route")
        self._requests: Counter[tuple[str, str, str]] = Counter()

    def add_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self.request_seconds.add(route, seconds)
        # Only ever called by the loop that serves, so that nothing is counted at the same time.
        self._requests[method, route, str(status)] += 1

    def render_requests(self, name: str) -> Iterator[str]:
        for (method, route, status), count in sorted(self._requests.copy().items()):
            yield render_sample(name, count, {"method": method, "route": route, "status": status})


class Measured:
    """Counts every request to an application, and measures the time until its answer begins."""

    def __init__(self, app: ASGIApp, measurements: Measurements) -> None:
        self._app = app
        self._measurements = measurements

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in METHODS else OTHER
                # Whether the framework's template begins with the prefix depends on its version.
                route = getattr(scope.get("route"), "path", OTHER).removeprefix("/api/v1")
                seconds = time.perf_counter() - started
                self._measurements.add_request(method, route, message["status"], seconds)
            await send(message)

        await self._app(scope, receive, send_and_count)


async def _get_measurements(request: Request) -> Measurements:
    measurements: Measurements = request.app.state.measurements
    return measurements


MeasurementsDep = Annotated[Measurements, Depends(_get_measurements)]


@router.get("/metrics", response_class=PlainTextResponse)
def get_metrics(request: Request, engine: EngineDep, measurements: MeasurementsDep) -> PlainTextResponse:
    """The engine's numbers in the text format of Prometheus."""
    feed: Feed = request.app.state.feed
    lines = [
        *_render_base(engine),
        *_render_queue(engine),
        *_render_disk(engine.options.data_dir),
        *_render_traffic(measurements, feed),
        *_render_process(measurements),
    ]
    return PlainTextResponse("".join(f"{line}\n" for line in lines), media_type=CONTENT_TYPE)


def _metric(name: str, kind: str, meaning: str, samples: Iterable[str]) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    yield from samples


def _gauge(name: str, meaning: str, value: float) -> Iterator[str]:
    return _metric(name, "gauge", meaning, [render_sample(name, value)])


def _counter(name: str, meaning: str, value: float) -> Iterator[str]:
    return _metric(name, "counter", meaning, [render_sample(name, value)])


def _render_base(engine: Engine) -> Iterator[str]:
    statistics = engine.store.read_statistics()
    about = {"version": VERSION, "model": engine.embedder.model.name}
    yield from _metric("kb_info", "gauge", "What runs; always 1.", [render_sample("kb_info", 1, about)])
    yield from _gauge("kb_model_ready", "Whether the model is loaded.", engine.embedder.is_ready)
    yield from _gauge("kb_documents", "Documents.", sum(statistics.documents_by_type.values()))
    yield from _gauge("kb_document_bytes", "Their size as they were added.", statistics.size_bytes)
    yield from _gauge("kb_database_bytes", "The size of the database on disk.", statistics.database_bytes)
    yield from _gauge("kb_chunks", "Chunks.", statistics.chunks)
    yield from _gauge("kb_vectors", "Chunks with a vector of the model in use.", statistics.vectors)


def _render_queue(engine: Engine) -> Iterator[str]:
    counts = engine.store.count_jobs()
    by_status = {"queued": counts.queued, "running": counts.running, "failed": counts.failed}
    samples = [render_sample("kb_jobs", count, {"status": status}) for status, count in by_status.items()]
    yield from _metric("kb_jobs", "gauge", "Jobs by status; finished ones are forgotten after 30 days.", samples)
    yield from _counter("kb_jobs_submitted_total", "Jobs ever submitted.", counts.ever_submitted)
    # The newest comes first, so that the last of them is the oldest.
    oldest = engine.store.list_jobs(status=JobStatus.QUEUED, limit=1, offset=max(counts.queued - 1, 0)).rows
    waiting = (engine.clock() - oldest[0].created_at).total_seconds() if oldest else 0
    yield from _gauge("kb_oldest_queued_job_seconds", "How long the oldest job in the queue waits.", max(waiting, 0))


def _render_disk(data_dir: Path) -> Iterator[str]:
    yield from _gauge("kb_disk_free_bytes", "Free space where the data is.", shutil.disk_usage(data_dir).free)


def _render_traffic(measurements: Measurements, feed: Feed) -> Iterator[str]:
    name = "kb_http_requests_total"
    yield from _metric(name, "counter", "Requests answered.", measurements.render_requests(name))
    name = "kb_http_request_seconds"
    meaning = "Time until the answer began."
    yield from _metric(name, "histogram", meaning, measurements.request_seconds.render(name))
    name = "kb_search_seconds"
    yield from _metric(name, "histogram", "Time a search took.", measurements.search_seconds.render(name))
    yield from _gauge("kb_events_subscribers", "Clients that listen to events.", feed.listeners)


def _render_process(measurements: Measurements) -> Iterator[str]:
    """Of the engine itself, not of its worker. The names are those that every program uses."""
    yield from _counter("process_cpu_seconds_total", "Processor time used.", time.process_time())
    yield from _gauge("process_start_time_seconds", "When it started, since 1970.", measurements.started_at)
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        yield from _gauge("process_resident_memory_bytes", "Memory in use.", pages * resource.getpagesize())
        yield from _gauge("process_open_fds", "Open files and sockets.", len(list(Path("/proc/self/fd").iterdir())))
