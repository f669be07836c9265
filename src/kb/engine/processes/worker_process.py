"""The worker as a process of its own. It shares the data directory with its engine, which nudges it to work."""

import os
import signal
import threading
import time
import uuid
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict
from functools import partial

from pydantic import TypeAdapter

from kb.child import STOP_WITHIN_SECONDS, Child, listen_to_parent, read_options
from kb.engine.ingestion.worker import Worker
from kb.engine.mapping.mapmaker import keep_map
from kb.engine.model import Lane
from kb.engine.upkeep.caretaker import take_care
from kb.engine.upkeep.forgetting import keep_forgetting
from kb.engine.upkeep.scrub import scrub
from kb.engine.upkeep.shortfall import report_shortfall
from kb.engine.upkeep.tuning import tune
from kb.engine.wiring import EngineOptions, open_for_worker
from kb.logs import log_to_stderr

# A retry's delay and a dead worker's lease end without a nudge.
LOOK_EVERY_SECONDS = 0.5
# Searches come first when there are not enough cores for both: of a core that both want, a search gets three quarters.
NICENESS = 5
# What goes on beside the jobs, while the worker is the one in charge of it.
UPKEEP = (keep_forgetting, scrub, tune, keep_map)


class Nudges:
    """Wakes each lane that waits for work: there may be some for any of them."""

    def __init__(self) -> None:
        self._woken = {lane: threading.Event() for lane in Lane}

    def wake_all(self) -> None:
        for woken in self._woken.values():
            woken.set()

    def wait(self, lane: Lane) -> None:
        self._woken[lane].wait(LOOK_EVERY_SECONDS)
        self._woken[lane].clear()


def run_worker(options: EngineOptions, stopping: threading.Event, nudges: Nudges) -> None:
    """Work until `stopping` is set; then finish or give back what is under way."""

    def work_in(lane: Lane) -> None:
        Worker(engine.pipeline, lane, stopping).work(lambda: nudges.wait(lane))

    lanes = [*Lane, *[Lane.BULK] * (options.concurrency - 1)]
    # Each needs a thread of its own: by itself the pool has as many as the machine has cores, and some more.
    with open_for_worker(options) as engine, ThreadPoolExecutor(len(lanes) + 3) as threads:
        name = uuid.uuid4().hex
        duties = [partial(upkeep, engine.store, engine.originals, engine.clock) for upkeep in UPKEEP]
        running = [threads.submit(work_in, lane) for lane in lanes]
        running.append(threads.submit(report_shortfall, engine.store, engine.embedder, name, engine.clock, stopping))
        running.append(threads.submit(take_care, engine.store, name, duties, engine.clock, stopping))
        running.append(threads.submit(engine.store.watch_jobs, nudges.wake_all, stopping))
        wait(running, return_when=FIRST_EXCEPTION)
        # One that failed for a reason nobody foresaw takes the others with it: the engine starts another worker.
        stopping.set()
        nudges.wake_all()
        # The last thing that the report does is to take back what it has said.
        wait(running[: len(lanes) + 1])
        # Nobody waits for the rest, which may be in the middle of one long query: this ends it.
        engine.store.close()
        for one in running:
            one.result()


def start_worker(options: EngineOptions) -> Child:
    return Child("worker", "kb.engine.processes.worker_process", asdict(options))


def main() -> None:
    # Ctrl-C goes to every process of the terminal, and systemd's SIGTERM to every one of the service; the engine
    # decides when its worker stops.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    os.nice(NICENESS)
    options = TypeAdapter(EngineOptions).validate_python(read_options())
    log_to_stderr("worker", options.log_format)
    stopping, nudges = threading.Event(), Nudges()

    def stop() -> None:
        stopping.set()
        nudges.wake_all()
        # The job under way may be finished, but a worker without an engine does not stay for it.
        time.sleep(STOP_WITHIN_SECONDS)
        os._exit(1)

    listen_to_parent(on_nudge=nudges.wake_all, on_end=stop)
    run_worker(options, stopping, nudges)


if __name__ == "__main__":
    main()
