"""E1: who may come in, key or no key."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tests.api_calls import EVERY_OPERATION, OPEN, V1, assert_problem

from kb.access import Access

KEY, READING_KEY = "sesame-\u00e9", "just-looking"
GUARDED = replace(
    OPEN,
    writing_keys=(KEY,),
    reading_keys=(READING_KEY,),
    hosts=("testserver", "[::1]", "kb.example"),
    origins=("https://notes.example", "http://localhost:5173"),
)
PUBLIC = {"/health/live", "/health/ready"}


@pytest.fixture
def guarded(open_api: Callable[[Access], TestClient]) -> TestClient:
    return open_api(GUARDED)


def bearer(key: str) -> dict[bytes, bytes]:
    return {b"Authorization": f"Bearer {key}".encode()}


@pytest.mark.parametrize(("method", "path"), [*EVERY_OPERATION, ("get", "/api/openapi.json")])
def test_e1_every_route_but_the_public_ones_needs_the_key(guarded: TestClient, method: str, path: str) -> None:
    without = guarded.request(method, path)
    wrong = guarded.request(method, path, headers=bearer("sesame"))
    right = guarded.request(method, path, headers=bearer(KEY))

    if path in PUBLIC:
        assert without.status_code == wrong.status_code == 200
    else:
        for refused in (without, wrong):
            assert_problem(refused, 401, "unauthorized")
            assert refused.headers["www-authenticate"] == "Bearer"
    assert right.status_code != 401


@pytest.mark.parametrize(
    "authorization",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic c2VzYW1l",
        KEY.encode(),
        f"Bearer {KEY} ".encode() + b"x",
        f"Bearer {KEY[:-1]}".encode(),
        f"Bearer {KEY.upper()}".encode(),
        f"Token {KEY}".encode(),
        b"Bearer \xff\xfe",
    ],
)
def test_e1_nothing_but_the_whole_key_will_do(guarded: TestClient, authorization: bytes) -> None:
    response = guarded.get(f"{V1}/status", headers={b"Authorization": authorization})

    assert_problem(response, 401, "unauthorized")


def test_e1_the_key_is_taken_from_one_header_and_from_nowhere_else(guarded: TestClient) -> None:
    twice = [(b"Authorization", b"Bearer wrong"), (b"Authorization", f"Bearer {KEY}".encode())]

    for response in (
        guarded.get(f"{V1}/status", headers=twice),
        guarded.get(f"{V1}/status", params={"api_key": KEY, "access_token": KEY}),
        guarded.get(f"{V1}/status", headers={b"X-API-Key": KEY.encode()}),
        guarded.get(f"{V1}/status", headers={b"Cookie": f"key={KEY}".encode()}),
    ):
        assert_problem(response, 401, "unauthorized")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_e1_the_scheme_may_be_written_in_any_case(guarded: TestClient, scheme: str) -> None:
    response = guarded.get(f"{V1}/status", headers={b"Authorization": f"{scheme} {KEY}".encode()})

    assert response.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "//api/v1/status",
        "/./api/v1/status",
        "/x/../api/v1/status",
        "/API/v1/status",
        "/api/v1/status/",
        "/api//v1/status",
        "/api/v1/status;x",
        "/%61pi/v1/status",
        "/api%2Fv1%2Fstatus",
        "/health/../api/v1/status",
        "/health/live/..%2f..%2fapi/v1/status",
    ],
)
def test_e1_no_other_way_of_writing_a_path_leads_around_the_key(guarded: TestClient, path: str) -> None:
    response = guarded.get(path, headers={"X-Original-URL": "/api/v1/status", "X-HTTP-Method-Override": "GET"})

    assert response.status_code in (401, 404)


@pytest.mark.parametrize(("method", "path"), EVERY_OPERATION)
def test_e1_the_reading_key_reads_and_does_nothing_else(guarded: TestClient, method: str, path: str) -> None:
    response = guarded.request(method, path, headers=bearer(READING_KEY))

    if method == "get" or path == f"{V1}/search":
        assert response.status_code not in (401, 403)
    else:
        assert assert_problem(response, 403, "forbidden")["access"] == "read"


@pytest.mark.parametrize("host", ["testserver", "TESTSERVER:8000", "[::1]:8000", "[::1]", "kb.example:443"])
def test_e1_the_engine_answers_to_its_names(guarded: TestClient, host: str) -> None:
    assert guarded.get("/health/live", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "testserver.evil.example", "eviltestserver", "", "testserver:80:80", "[::1", "@testserver"]
)
@pytest.mark.parametrize("path", ["/health/live", f"{V1}/status", "/"])
def test_e1_another_host_is_refused_everywhere(guarded: TestClient, host: str, path: str) -> None:
    response = guarded.get(path, headers={b"Host": host.encode(), **bearer(KEY)})

    assert "access" not in assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize("origin", ["http://localhost:5173", "https://NOTES.example", "http://testserver"])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin"])
def test_e30_configured_origin_may_call_from_any_site(guarded: TestClient, origin: str, site: str) -> None:
    headers = {b"Origin": origin.encode(), b"Sec-Fetch-Site": site.encode(), **bearer(KEY)}

    response = guarded.get(f"{V1}/status", headers=headers)

    is_own_page = origin == "http://testserver"
    assert response.status_code == (403 if is_own_page and site != "same-origin" else 200)
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("host", "origin", "forwarded"),
    [
        ("testserver", "http://testserver", ""),
        ("testserver:8000", "http://testserver:8000", ""),
        ("[::1]:8000", "http://[::1]:8000", ""),
        ("kb.example", "https://kb.example", "https"),
        ("kb.example:8443", "https://KB.example:8443", "https"),
    ],
)
def test_e30_page_of_the_engine_may_call_it(guarded: TestClient, host: str, origin: str, forwarded: str) -> None:
    headers = {b"Host": host.encode(), b"Origin": origin.encode(), b"Sec-Fetch-Site": b"same-origin", **bearer(KEY)}

    response = guarded.get(f"{V1}/status", headers={**headers, b"X-Forwarded-Proto": forwarded.encode()})

    assert response.status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://[::1]",
        "http://[::1]:3000",
        "https://[::1]:8000",
        "evil://[::1]:8000",
        "chrome-extension://[::1]:8000",
        "[::1]:8000",
        "http://localhost:8000",
        "http://127.0.0.1:8000",
        "http://localhost",
        "localhost",
    ],
)
def test_e30_page_of_another_port_or_scheme_is_refused(guarded: TestClient, origin: str) -> None:
    headers = {b"Host": b"[::1]:8000", b"Origin": origin.encode(), **bearer(KEY)}

    for path in (f"{V1}/status", "/health/live", "/"):
        assert_problem(guarded.get(path, headers=headers), 403, "forbidden")


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://notes.example",
        "https://notes.example:444",
        "http://[::1",
        "http://[",
        "://",
        "\x80",
    ],
)
def test_e1_a_foreign_origin_is_refused_even_by_an_open_engine(
    open_api: Callable[[Access], TestClient], origin: str
) -> None:
    api = open_api(replace(GUARDED, writing_keys=(), reading_keys=()))

    for method, path in (
        ("GET", f"{V1}/status"),
        ("POST", f"{V1}/jobs"),
        ("OPTIONS", f"{V1}/jobs"),
        ("GET", "/health/live"),
    ):
        response = api.request(method, path, headers={b"Origin": origin.encode("latin-1")})
        assert_problem(response, 403, "forbidden")


def test_e1_one_known_origin_does_not_vouch_for_another(api: TestClient) -> None:
    response = api.get(f"{V1}/status", headers=[("Origin", "http://testserver"), ("Origin", "https://evil.example")])

    assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "", "unknown"])
def test_e1_a_page_of_another_site_is_refused_also_without_an_origin(api: TestClient, site: str) -> None:
    response = api.get(f"{V1}/status", headers={"Sec-Fetch-Site": site})

    assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize(("site", "mode"), [("same-origin", "cors"), ("none", "navigate")])
def test_e1_own_page_and_typed_address_are_accepted(api: TestClient, site: str, mode: str) -> None:
    response = api.get(f"{V1}/status", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode})

    assert response.status_code == 200


def test_e30_extension_without_origin_is_refused(api: TestClient) -> None:
    response = api.get(f"{V1}/status", headers={"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "cors"})

    assert_problem(response, 403, "forbidden")


def test_e30_link_on_another_page_opens_the_engine_page(api: TestClient) -> None:
    response = api.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})

    assert response.status_code == 200


def test_e1_a_form_of_another_page_cannot_add_a_note(api: TestClient) -> None:
    plain = api.post(f"{V1}/jobs", content='{"type":"note","text":"x"}', headers={"Content-Type": "text/plain"})
    form = api.post(f"{V1}/jobs", data={"type": "note", "text": "x"})

    assert_problem(plain, 422, "invalid_request")
    assert_problem(form, 422, "invalid_request")


@pytest.mark.parametrize("path", ["/health/live", f"{V1}/status", "/nothing", f"{V1}/documents/1", "/"])
@pytest.mark.parametrize("access", [OPEN, GUARDED], ids=["open", "guarded"])
def test_e1_security_headers_are_on_every_answer(
    open_api: Callable[[Access], TestClient], path: str, access: Access
) -> None:
    headers = open_api(access).get(path).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"] or path == "/"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-request-id"]


@pytest.mark.parametrize("path", ["/", f"{V1}/jobs", f"{V1}/events", "/health/live"])
def test_e1_a_websocket_is_refused_before_it_is_accepted(guarded: TestClient, path: str) -> None:
    with pytest.raises(WebSocketDisconnect), guarded.websocket_connect(path):
        pytest.fail("accepted")


@pytest.mark.parametrize("request_id", ["abc-1.2_3", "x" * 64])
def test_e3_a_request_keeps_its_id(guarded: TestClient, request_id: str) -> None:
    assert guarded.get("/health/live", headers={"X-Request-ID": request_id}).headers["x-request-id"] == request_id


@pytest.mark.parametrize("request_id", ["", "x" * 65, "a b", "a\x80", "<script>"])
def test_e3_an_unusable_request_id_is_replaced(guarded: TestClient, request_id: str) -> None:
    first = guarded.get("/health/live", headers={b"X-Request-ID": request_id.encode("latin-1")})
    second = guarded.get("/health/live")

    ids = {first.headers["x-request-id"], second.headers["x-request-id"]}
    assert request_id not in ids
    assert len(ids) == 2
