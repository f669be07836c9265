import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from tests.engine_program import own_environment

from kb.settings import EngineSettings, McpSettings, SettingsError, read_settings

BEGINNING = "import logging; from kb.logs import log_context, log_to_stderr; log = logging.getLogger('kb.test')\n"


def run(code: str) -> list[str]:
    """The lines that a program of its own writes to stderr: pytest has taken hold of the logs of this one."""
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + code],
        env=own_environment(Path()),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_a_line_of_text_tells_time_program_level_and_message() -> None:
    (line,) = run("log_to_stderr('engine'); log.info('Job %d is done.', 7)")

    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} engine  INFO Job 7 is done\.", line)


def test_a_line_says_which_request_or_job_it_belongs_to_and_no_other_does() -> None:
    inside, deeper, outside = run(
        "log_to_stderr('engine')\n"
        "with log_context(request_id='r-1'):\n"
        "    log.info('Inside.')\n"
        "    with log_context(job_id=7):\n"
        "        log.info('Deeper.')\n"
        "log.info('Outside.')"
    )

    assert inside.endswith("INFO Inside. request=r-1")
    assert deeper.endswith("INFO Deeper. request=r-1 job=7")
    assert outside.endswith("INFO Outside.")


def test_what_is_logged_cannot_pretend_to_be_another_line() -> None:
    (line,) = run(
        r"log_to_stderr('engine'); log.info('GET %s', '/a\n2026-01-01 engine INFO All is well.\u2028\x1b[2J')"
    )

    assert line.endswith(r"GET /a\x0a2026-01-01 engine INFO All is well.\x2028\x1b[2J")


def test_a_traceback_stands_behind_its_line() -> None:
    line, *traceback = run(
        "log_to_stderr('engine')\n"
        "with log_context(job_id=7):\n"
        "    try:\n        1 / 0\n    except ZeroDivisionError:\n        log.exception('Failed.')"
    )

    assert line.endswith("ERROR Failed. job=7")
    assert traceback[0] == "Traceback (most recent call last):"
    assert traceback[-1] == "ZeroDivisionError: division by zero"


def test_as_json_every_line_is_one_object_with_its_ids_and_its_traceback() -> None:
    lines = run(
        "log_to_stderr('worker', 'json')\n"
        "log.warning('Two\\nlines, %s', 'żółw')\n"
        "with log_context(request_id='r-1', job_id=7):\n"
        "    try:\n        1 / 0\n    except ZeroDivisionError:\n        log.exception('Failed.')"
    )

    first, second = map(json.loads, lines)
    times = [datetime.fromisoformat(line.pop("time")) for line in (first, second)]
    exception = second.pop("exception")
    assert all(time.utcoffset() is not None for time in times)
    assert first == {"level": "warning", "program": "worker", "message": "Two\nlines, żółw"}
    assert second == {"level": "error", "program": "worker", "message": "Failed.", "request_id": "r-1", "job_id": 7}
    assert exception.endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("program", [EngineSettings, McpSettings])
def test_the_format_is_a_setting_with_two_values(program: type[EngineSettings | McpSettings], tmp_path: Path) -> None:
    chosen = read_settings(program, {}, {"KB_LOG_FORMAT": "json"}, tmp_path)

    assert chosen.log_format == "json"
    assert read_settings(program, {}, {}, tmp_path).log_format == "text"
    with pytest.raises(SettingsError, match=r'KB_LOG_FORMAT is "xml"; allowed: `text` or `json`'):
        read_settings(program, {}, {"KB_LOG_FORMAT": "xml"}, tmp_path)
