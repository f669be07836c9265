"""The worker as a process of its own. It shares the data directory with its engine, which nudges it to work."""

import os
import signal
import threading
import time
from dataclasses import asdict
from pathlib import Path

from kb.child import STOP_WITHIN_SECONDS, Child, listen_to_parent, read_options
from kb.engine.ingestion.worker import Worker
from kb.engine.wiring import EngineOptions, open_parts
from kb.logs import log_to_stderr

# A retry's delay and a dead worker's lease end without a nudge.
LOOK_EVERY_SECONDS = 0.5
# Searches come first when there are not enough cores for both.
NICENESS = 5


def run_worker(options: EngineOptions, stopping: threading.Event, woken: threading.Event) -> None:
    """Work until `stopping` is set; `woken` says that there may be work."""

    def wait() -> None:
        woken.wait(LOOK_EVERY_SECONDS)
        woken.clear()

    with open_parts(options) as parts:
        Worker(parts.pipeline).work_until(stopping, wait)


def start_worker(options: EngineOptions) -> Child:
    return Child("worker", "kb.engine.processes.worker_process", asdict(options))


def main() -> None:
    log_to_stderr("worker")
    # Ctrl-C goes to every process of the terminal; the engine decides when its worker stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    told = read_options()
    options = EngineOptions(
        data_dir=Path(told["data_dir"]),
        model_folder=Path(told["model_folder"]),
        graph_dir=Path(told["graph_dir"]),
        max_file_bytes=told["max_file_bytes"],
        threads=told["threads"],
    )
    stopping, woken = threading.Event(), threading.Event()

    def stop() -> None:
        stopping.set()
        woken.set()
        # The job under way may be finished, but a worker without an engine does not stay for it.
        time.sleep(STOP_WITHIN_SECONDS)
        os._exit(1)

    listen_to_parent(on_nudge=woken.set, on_end=stop)
    run_worker(options, stopping, woken)


if __name__ == "__main__":
    main()
