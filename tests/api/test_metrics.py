"""E20: the numbers that Prometheus asks for."""

import re
import sys
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.api_calls import OPEN, V1

from kb.engine.api.app import create_app
from kb.engine.wiring import Engine
from kb.version import VERSION

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')


@pytest.fixture
def measured(engine: Engine) -> Iterator[TestClient]:
    """The whole application: what the guard refuses is counted too."""
    with TestClient(create_app(engine, OPEN), raise_server_exceptions=False) as client:
        yield client


def read_metrics(client: TestClient) -> dict[str, float]:
    """The value of each sample by its name and labels as they stand there; fails on a line that is none."""
    response = client.get(f"{V1}/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for line in response.text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert kinds.setdefault(name, kind) == kind
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert any(re.fullmatch(f"{name}(_bucket|_sum|_count)?", sample[1]) for name in kinds), line
        named = line.rpartition(" ")[0]
        assert named not in values, line
        values[named] = float(sample[3])
    return values


def test_e20_the_base_and_its_queue_are_counted(measured: TestClient, engine: Engine) -> None:
    for text in ("One", "Two"):
        measured.post(f"{V1}/jobs", json={"type": "note", "text": text})

    metrics = read_metrics(measured)

    about = f'kb_info{{version="{VERSION}",model="{engine.embedder.model.name}"}}'
    assert metrics[about] == 1
    assert (metrics["kb_documents"], metrics["kb_chunks"], metrics["kb_vectors"]) == (0, 0, 0)
    assert metrics['kb_jobs{status="queued"}'] == 2
    assert metrics['kb_jobs{status="failed"}'] == 0
    assert metrics["kb_jobs_submitted_total"] == 2
    assert metrics["kb_oldest_queued_job_seconds"] > 0
    assert metrics["kb_database_bytes"] > 4096
    assert metrics["kb_disk_free_bytes"] > 0
    assert metrics["kb_events_subscribers"] == 0


def test_e20_the_process_is_described(measured: TestClient) -> None:
    metrics = read_metrics(measured)

    assert metrics["process_cpu_seconds_total"] > 0
    assert metrics["process_start_time_seconds"] > 1_500_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux tells a process its memory and open files as files.")
def test_e20_on_linux_memory_and_open_files_are_told_too(measured: TestClient) -> None:
    metrics = read_metrics(measured)

    assert metrics["process_resident_memory_bytes"] > 10_000_000
    assert metrics["process_open_fds"] > 3


def test_e20_requests_are_counted_by_route_and_never_by_what_callers_choose(measured: TestClient) -> None:
    measured.get(f"{V1}/documents/4711")
    measured.get(f"{V1}/documents/4712")
    measured.get("/a/path/of/my/own")
    measured.request("BREW", f"{V1}/documents")
    measured.get(f"{V1}/status", headers={"Host": "elsewhere.example"})

    metrics = read_metrics(measured)

    requests = {name: count for name, count in metrics.items() if name.startswith("kb_http_requests_total")}
    assert requests == {
        'kb_http_requests_total{method="GET",route="/documents/{id}",status="404"}': 2,
        'kb_http_requests_total{method="GET",route="other",status="404"}': 1,
        'kb_http_requests_total{method="other",route="/documents",status="405"}': 1,
        'kb_http_requests_total{method="GET",route="other",status="403"}': 1,
    }
    assert metrics['kb_http_request_seconds_count{route="/documents/{id}"}'] == 2


def test_e20_searches_are_measured_by_mode(measured: TestClient) -> None:
    for mode in ("fts", "hybrid", "hybrid"):
        measured.post(f"{V1}/search", json={"query": "lighthouse", "mode": mode}).raise_for_status()

    metrics = read_metrics(measured)

    buckets = [count for name, count in metrics.items() if name.startswith('kb_search_seconds_bucket{mode="hybrid"')]
    assert buckets == sorted(buckets)
    assert buckets[-1] == metrics['kb_search_seconds_bucket{mode="hybrid",le="+Inf"}'] == 2
    assert metrics['kb_search_seconds_count{mode="hybrid"}'] == 2
    assert metrics['kb_search_seconds_count{mode="fts"}'] == 1
    assert 0 < metrics['kb_search_seconds_sum{mode="fts"}'] < 60


def test_e20_nothing_of_the_users_is_in_the_metrics(measured: TestClient, engine: Engine) -> None:
    note = {"type": "note", "text": "xyzzy", "title": "xyzzy", "tags": ["xyzzy"], "source_path": "/xyzzy"}
    measured.post(f"{V1}/jobs", json=note).raise_for_status()
    measured.post(f"{V1}/search", json={"query": "xyzzy"}).raise_for_status()
    measured.get(f"{V1}/documents/1/tags/xyzzy?xyzzy=xyzzy", headers={"Authorization": "Bearer xyzzy"})

    text = measured.get(f"{V1}/metrics").text

    assert "xyzzy" not in text
    assert str(engine.options.data_dir) not in text
