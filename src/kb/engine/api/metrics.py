"""The route that Prometheus asks: numbers about the base, the queue, the requests and the process.

Written by hand: the format is lines of text, and a library for it would be one more to trust. No number has a label
that tells of the user's documents.
"""

import resource
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from kb.engine.api.events import Feed
from kb.engine.api.measuring import Measurements, MeasurementsDep, render_sample
from kb.engine.api.parameters import EngineDep
from kb.engine.model import JobStatus
from kb.engine.wiring import Engine
from kb.version import VERSION

router = APIRouter(tags=["status"])

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
