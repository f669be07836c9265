"""Engine and worker started apart, as docs/how-to/use-a-gpu.md says, on a machine that has no such device."""

import subprocess
import time
from pathlib import Path

import httpx
from tests.engine_program import EngineAlone, kb_command, own_environment

LACKING = "A worker says: The model computes on the processor and not on rocm: "
TOLD_WITHIN_SECONDS = 60


class EngineWithoutWorker(EngineAlone):
    def _run(self, *arguments: str) -> None:
        super()._run(*arguments, "--no-worker", "--device", "cpu")


def wait_for_issues(engine: EngineAlone, *, are_there: bool) -> list[str]:
    deadline = time.monotonic() + TOLD_WITHIN_SECONDS
    while True:
        status = httpx.get(f"{engine.url}/api/v1/status", trust_env=False, timeout=60).json()
        issues: list[str] = status["health"]["issues"]
        if bool(issues) == are_there:
            return issues
        assert time.monotonic() < deadline, issues
        time.sleep(0.05)


def test_e20_status_tells_what_a_worker_lacks_for_as_long_as_it_runs(model_folder: Path, tmp_path: Path) -> None:
    engine = EngineWithoutWorker(tmp_path)
    engine.start()
    try:
        before = wait_for_issues(engine, are_there=False)
        worker = subprocess.Popen(
            kb_command("worker", "--device", "rocm", "--data-dir", str(engine.data_dir)),
            env=own_environment(tmp_path),
            stderr=subprocess.DEVNULL,
        )
        try:
            (issue,) = wait_for_issues(engine, are_there=True)
            examined = engine.run_kb("doctor", "--quick").stdout
        finally:
            worker.terminate()
            worker.wait()

        assert before == wait_for_issues(engine, are_there=False) == []
        assert issue.startswith(LACKING)
        assert LACKING in examined
    finally:
        engine.stop()
