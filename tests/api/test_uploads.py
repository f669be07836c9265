"""E2 and E4: whatever is sent as a form, it becomes a job or a problem, and never a file in the wrong place."""

import logging
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1, assert_problem
from tests.bundles import pack
from tests.engine_in_process import serving
from tests.waiting import wait_until

from kb.engine.api.app import create_app
from kb.engine.api.guard import MAX_FORM_BYTES, MAX_JSON_BYTES
from kb.engine.wiring import Engine
from kb.serving.held_bodies import MAX_VALUES


def test_e2_a_file_that_is_too_large_is_refused(api: TestClient, engine: Engine) -> None:
    larger = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"x" * (MAX_FILE_BYTES + 1))})
    declared = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"x" * (MAX_FILE_BYTES + MAX_FORM_BYTES))})
    undeclared = api.post(
        f"{V1}/jobs",
        content=chunks_of_form(MAX_FILE_BYTES + MAX_FORM_BYTES),
        headers={"Content-Type": "multipart/form-data; boundary=B"},
    )
    just_fits = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"x" * MAX_FILE_BYTES)})

    for response in (larger, declared, undeclared):
        assert_problem(response, 413, "file_too_large")
    assert just_fits.status_code == 202
    assert list((engine.options.data_dir / "originals" / "incoming").iterdir()) == []


@pytest.mark.parametrize("content_type", ["multipart/form-data ; boundary=B", " Multipart/Form-Data;boundary=B; x=y"])
def test_e4_a_file_is_read_in_pieces_however_the_type_of_its_form_is_spelt(engine: Engine, content_type: str) -> None:
    too_many_values_for_json = part("file", b"," * (MAX_VALUES + 1), filename="a.txt") + END
    too_large = part("file", b"x" * (MAX_FILE_BYTES + MAX_FORM_BYTES), filename="a.txt") + END

    with TestClient(create_app(engine, OPEN)) as api:
        taken, refused = (
            api.post(f"{V1}/jobs", content=content, headers={"Content-Type": content_type})
            for content in (too_many_values_for_json, too_large)
        )

    assert taken.status_code == 202
    assert_problem(refused, 413, "file_too_large")


@pytest.mark.parametrize("content_type", ["application/x-tar; x=y", "Application/X-Tar ; x=y"])
def test_e21_a_bundle_is_read_in_pieces_however_its_type_is_spelt(engine: Engine, content_type: str) -> None:
    bundle = pack([]) + bytes(MAX_JSON_BYTES)

    with TestClient(create_app(replace(engine, is_stopping=lambda: False), OPEN)) as api:
        response = api.post(f"{V1}/import", content=bundle, headers={"Content-Type": content_type})

    assert response.status_code == 200


def test_e2_what_only_begins_like_a_form_is_none(api: TestClient) -> None:
    headers = {"Content-Type": "multipart/form-data-x; boundary=B"}

    response = api.post(f"{V1}/jobs", content=bytes(MAX_JSON_BYTES + 1), headers=headers)

    assert_problem(response, 413, "payload_too_large")


def chunks_of_form(size_bytes: int) -> Iterator[bytes]:
    yield part("file", b"", filename="a.txt")[:-2]
    for _ in range(size_bytes // 65_536 + 1):
        yield b" " * 65_536


def part(name: str, content: bytes, *, filename: str | None = None) -> bytes:
    """One part of a form with the boundary B, from its delimiter to its line end."""
    file = "" if filename is None else f'; filename="{filename}"'
    return f'--B\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"


END = b"--B--\r\n"
A_FILE = part("file", b"content", filename="a.txt")
FORMS = {
    "nothing": (b"", 400),
    "end-only": (END, 422),
    "no-file": (part("title", b"x") + END, 422),
    "file-without-name": (part("file", b"x") + END, 422),
    "name-without-file": (part("other", b"x", filename="a.txt") + END, 422),
    "two-files": (A_FILE + A_FILE + END, 422),
    "truncated-content": (A_FILE[:-6], 400),
    "truncated-end": (A_FILE, 400),
    "truncated-header": (A_FILE[:30], 400),
    "wrong-boundary": (A_FILE.replace(b"--B", b"--C") + END.replace(b"B", b"C"), 400),
    "garbage": (b"\x00\xff" * 100, 400),
    "empty-file": (part("file", b"", filename="a.txt") + END, 422),
    "no-file-chosen": (part("file", b"", filename="") + END, 422),
    "unknown-field": (part("colour", b"red") + A_FILE + END, 422),
    "nameless-field": (b"--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n" + A_FILE + END, 422),
    "headerless-part": (b"--B\r\n\r\nx\r\n" + A_FILE + END, 422),
    "title-twice": (part("title", b"x") * 2 + A_FILE + END, 422),
    "blank-title": (part("title", b" ") + A_FILE + END, 422),
    "nul-in-title": (part("title", b"a\x00b") + A_FILE + END, 422),
    "blank-tag": (part("tags", b"") + A_FILE + END, 422),
    "force-ocr-maybe": (part("force_ocr", b"maybe") + A_FILE + END, 422),
    "metadata-not-json": (part("metadata", b"{") + A_FILE + END, 422),
    "metadata-deep": (part("metadata", b"[" * 100_000) + A_FILE + END, 422),
    "field-not-utf-8": (part("title", b"\xff") + A_FILE + END, 400),
    "name-not-utf-8": (A_FILE.replace(b"a.txt", b"\xff.txt") + END, 400),
    "3000-parts": (part("tags", b"x") * 3_000 + A_FILE + END, 422),
    "large-field": (part("title", b"x" * 1_100_000) + A_FILE + END, 422),
    "large-header": (A_FILE.replace(b"a.txt", b"x" * 100_000) + END, 400),
    "many-headers": (b"--B\r\n" + b"X: y\r\n" * 1_000 + b"\r\nx\r\n" + END, 400),
}


@pytest.mark.parametrize("name", FORMS)
def test_e2_a_form_that_makes_no_sense_is_refused(api: TestClient, engine: Engine, name: str) -> None:
    content, status = FORMS[name]

    response = api.post(f"{V1}/jobs", content=content, headers={"Content-Type": "multipart/form-data; boundary=B"})

    assert_problem(response, status, "invalid_request")
    files = [path for path in (engine.options.data_dir / "originals").rglob("*") if path.is_file()]
    assert {path.name for path in files} <= {"lock"}
    assert api.get(f"{V1}/jobs").json()["total"] == 0


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 300,
        'multipart/form-data; boundary="',
        "multipart/form-data;;;=;",
    ],
)
def test_e2_a_form_without_a_usable_boundary_is_refused(api: TestClient, content_type: str) -> None:
    response = api.post(f"{V1}/jobs", content=A_FILE + END, headers={"Content-Type": content_type})

    assert_problem(response, 400, "invalid_request")


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/xml", "multipart/mixed; boundary=B", "\u00e9"])
def test_e2_another_kind_of_body_is_refused(api: TestClient, content_type: str) -> None:
    response = api.post(f"{V1}/jobs", content=A_FILE, headers={b"Content-Type": content_type.encode()})

    assert_problem(response, 422, "invalid_request")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.exe", b"MZ\x90\x00"),
        ("a.txt", b"\x7fELF\x00"),
        ("a.txt", b"text\x00binary"),
        ("a.mp3", b"ID3"),
        ("a.t\u0445t", b"text"),
    ],
)
def test_e2_an_unsupported_format_is_refused_with_those_that_are_not(
    api: TestClient, name: str, content: bytes
) -> None:
    response = api.post(f"{V1}/jobs", files={"file": (name, content)})

    problem = assert_problem(response, 415, "unsupported_format")
    assert {"md", "txt"} <= set(problem["supported_formats"])


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../../etc/passwd", "passwd"),
        ("..\\..\\windows\\win.txt", "win.txt"),
        ("/absolute/a.txt", "a.txt"),
        ("C:\\a.txt", "a.txt"),
        ("..", "unnamed"),
        ("/", "unnamed"),
        ("~/.ssh/id.txt", "id.txt"),
        ("x" * 300 + ".txt", "x" * 251 + ".txt"),
        ("%2e%2e%2fa.txt", "%2e%2e%2fa.txt"),
    ],
)
def test_e2_a_file_s_name_is_never_a_place_on_disk(api: TestClient, engine: Engine, sent: str, kept: str) -> None:
    response = api.post(
        f"{V1}/jobs",
        content=part("file", b"content", filename=sent.replace("\\", "\\\\")) + END,
        headers={"Content-Type": "multipart/form-data; boundary=B"},
    )

    assert response.status_code == 202
    assert response.json()["filename"] == kept
    originals = [path for path in (engine.options.data_dir / "originals").glob("*/*") if path.is_file()]
    assert [len(path.name) for path in originals] == [64]


@pytest.mark.parametrize("sent", [b"", A_FILE[:-4]], ids=["at-once", "in-the-file"])
def test_e4_who_hangs_up_during_an_upload_leaves_no_file_and_one_quiet_line_in_the_log(
    engine: Engine, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    incoming = engine.options.data_dir / "originals" / "incoming"

    with caplog.at_level(logging.INFO), serving(engine) as (http, _):
        host, port = http.base_url.host, http.base_url.port
        headers = f"Host: {host}\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Length: 1000\r\n"
        with socket.create_connection((host, port or 0), timeout=30) as sender:
            sender.sendall(f"POST {V1}/jobs HTTP/1.1\r\n{headers}\r\n".encode() + sent)
            wait_until(lambda: any(incoming.iterdir()), "the upload has begun")

    assert [record.getMessage() for record in caplog.records if record.name.startswith(("kb", "uvicorn"))] == [
        f"POST {V1}/jobs: the client hung up before its request was complete."
    ]
    assert "Traceback" not in caplog.text
    assert [*incoming.iterdir()] == []
