"""What is counted while the engine runs: how many requests and searches, and how long they took."""

import bisect
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.engine.api.errors import METHODS

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
