"""The official conformance suite against our transport: `python -m tests.mcp_server.conformance [revision ...]`

What counts is checks, which the suite writes down in files: it puts its tick on a scenario without any, too.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.engine_program import SOURCES
from tests.node_tools import CONFORMANCE, node_command

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
BASELINE = Path(__file__).with_name("conformance_baseline.yml")
# Its questions are about answers that come as events, which ours are only if a request asks for progress.
WITHOUT_CHECKS = {"server-sse-polling"}
SUITE_WITHIN_SECONDS = 300


@dataclass(frozen=True)
class Report:
    revision: str
    scenarios: Mapping[str, Counter[str]]
    """How often each status was given in each scenario."""
    complaint: str
    """All that the suite said, if it saw a failure that the baseline does not excuse, or an entry that is stale."""
    seconds: float

    @property
    def passed(self) -> int:
        return self._count("SUCCESS")

    @property
    def failed(self) -> int:
        # The suite counts a SHOULD that is not followed, its warning, as a failure too.
        return self._count("FAILURE", "WARNING")

    @property
    def skipped(self) -> int:
        return self._count("SKIPPED")

    @property
    def without_checks(self) -> set[str]:
        """The scenarios that prove nothing."""
        return {
            name for name, counts in self.scenarios.items() if not counts.keys() & {"SUCCESS", "FAILURE", "WARNING"}
        }

    @property
    def is_good(self) -> bool:
        return not self.complaint and self.passed > 0 and self.without_checks <= WITHOUT_CHECKS

    def _count(self, *statuses: str) -> int:
        return sum(counts[status] for counts in self.scenarios.values() for status in statuses)


def run_suite(url: str, revision: str, *, scenario: str | None = None) -> Report:
    """Every scenario that applies to the revision, or the one named. Raises `NodeToolsMissing`."""
    chosen = ["--suite", "all"] if scenario is None else ["--scenario", scenario]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        options = ["--url", url, "--spec-version", revision, "--expected-failures", str(BASELINE), "-o", folder]
        suite = subprocess.run(
            node_command(CONFORMANCE, "server", *options, *chosen),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SUITE_WITHIN_SECONDS,
        )
        scenarios = dict(_read_results(Path(folder)))
    complaint = "" if suite.returncode == 0 else suite.stdout or f"It ended with {suite.returncode}."
    return Report(revision, scenarios, complaint, time.monotonic() - begin)


@contextmanager
def conformance_server() -> Iterator[str]:
    """The address of the server with the suite's tools."""
    command = [sys.executable, "-m", "tests.mcp_server.conformance_server"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(SOURCES.parent)])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "The server did not start; it says why above."
            yield url
        finally:
            process.terminate()


def render_reports(reports: list[Report]) -> str:
    lines = [f"{'revision':<12}{'scenarios':>9}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}"]
    for report in reports:
        verdict = "only what the baseline excuses failed" if report.is_good else "NOT as the baseline says"
        lines.append(
            f"{report.revision:<12}{len(report.scenarios):>9}{report.passed:>8}{report.failed:>8}"
            f"{report.skipped:>9}{report.seconds:>9.1f}  {verdict}"
        )
        if report.without_checks:
            lines.append(f"{'':<12}without any check: {', '.join(sorted(report.without_checks))}")
    return "\n".join(lines)


def _read_results(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    for file in folder.glob("*/checks.json"):
        # The folder is called after the scenario and the time: server-ping-2026-07-28T12-00-00-000Z.
        name = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", file.parent.name)
        assert name is not None, f"The suite names its results otherwise now: {file.parent.name}"
        yield name[1], Counter(check["status"] for check in json.loads(file.read_bytes()))


def main(revisions: Sequence[str]) -> int:
    with conformance_server() as url:
        reports = [run_suite(url, revision) for revision in revisions]
    for report in reports:
        sys.stderr.write(report.complaint)
    sys.stdout.write(f"{render_reports(reports)}\n")
    return 0 if all(report.is_good for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or REVISIONS))
