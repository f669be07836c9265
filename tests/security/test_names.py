"""File names from strangers: shown to people as they were meant, but never a place on disk nor a piece of a header."""

import random
import re
import tempfile
import unicodedata
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from email.message import Message
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.amounts import SEED, Tell, amount
from tests.api_calls import Answer
from tests.bundles import pack, pack_member, portable_file
from tests.security.naughty_strings import NAUGHTY, is_unicode
from tests.security.open_programs import TOOLSETS, Base, open_base, open_mcp

from kb.engine.bundles.writing import begin_bundle, end_bundle
from kb.engine.ports import Embedder

CANARY = f"canary{uuid.uuid4().hex[:12]}"
"""In every name, so that whatever is made by that name is found again."""
LEADS = [
    *(
        "",
        "../",
        "../../../../../../",
        "..\\..\\",
        "/",
        "//",
        "~/",
        "./",
        "C:\\",
        "C:",
        "\\\\host\\share\\",
    ),
    *(
        "file:///",
        "%2e%2e%2f",
        "....//",
        "..;/",
        "-",
        "--",
        ".",
        "..",
        " ",
        "\t",
        "\ufeff",
        "\u202e",
        "\u2215",
        "\uff0f",
    ),
    *(
        "\x00",
        "\r\n",
        "\n",
        "\r\nX-Evil: 1\r\n\r\n",
        "\x7f",
        "\x1b[2J",
        "\x85",
        "\u2028",
        "CON.",
        "nul ",
        "é",
        "e\u0301",
        "🦭",
    ),
]
TAILS = [
    *(
        "",
        ".txt",
        ".TXT",
        ".txt.",
        ".txt ",
        ".txt...",
        ".txt\x00.png",
        ".txt\r\n",
        ".txt\nX-Evil: 1",
        ".txt;x=y",
        ".txt\\",
    ),
    *('.txt"; filename="evil.html', ".html", ".svg", ".txt'%00", ".t%0d%0axt", ".txt/", ".txt/..", ".txt::$DATA"),
    *("\u202etxt.exe", "=?utf-8?q?a?=", "," * 20, "\U0010ffff", "x" * 5000 + ".txt", "🦭" * 300 + ".txt"),
]
# Of what one block of a tar file can say.
LONGEST_MEMBER_NAME = 100
BOUNDARY = "a-boundary-that-no-name-has"
NO_PLACE = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
REFUSED_IN_BUNDLES = re.compile(r"[/\\\x00-\x1f\x7f]")
GENERATED = re.compile(r"originals/([0-9a-f]{2}/[0-9a-f]{64}|lock|pin)|kb\.sqlite(-wal|-shm)?|[a-z.-]+")


def choose_names(count: int) -> list[str]:
    every = [f"{lead}{CANARY}{tail}" for lead, tail in product(LEADS, TAILS)]
    every += [f"{text}{CANARY}" for text in NAUGHTY if is_unicode(text)]
    return random.Random(SEED).sample(every, min(count, len(every)))  # noqa: S311 - no secret


@pytest.fixture(scope="module")
def base(embedder: Embedder) -> Iterator[Base]:
    with open_base(embedder) as base:
        yield base


@pytest.fixture(autouse=True)
def _nothing_is_made_elsewhere(base: Base) -> Iterator[None]:
    yield
    own = [path for path in base.folder.rglob("*") if path.is_file()]
    assert all(GENERATED.fullmatch(str(path.relative_to(base.folder))) for path in own), own
    elsewhere = {base.folder.parent, Path.cwd(), Path(tempfile.gettempdir()), Path.home(), Path("/"), Path("/tmp")}  # noqa: S108
    assert not [path for folder in elsewhere for path in folder.iterdir() if CANARY in path.name]


def dispositions_of(name: str) -> Iterable[bytes]:
    """The ways in which clients write a name into a form; raw, since that is how an attacker does it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'filename="{escaped}"'.encode(),
        f'filename="{name}"'.encode(),
        f"filename=\"a.txt\"; filename*=UTF-8''{quote(name, safe='')}".encode(),
        f"filename*=UTF-8''{quote(name, safe='')}".encode(),
    )


def upload_as(base: Base, disposition: bytes, text: str = "The walrus rests.") -> Answer:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; '.encode()
    content = head + disposition + f"\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    return base.api.post("/jobs", content=content, headers=headers)


def assert_harmless(name: str) -> None:
    assert 1 <= len(name) <= 255
    assert NO_PLACE.search(name) is None, name
    assert name.strip(". "), name


def test_an_upload_is_named_for_people_and_stored_by_its_content(base: Base, tell: Tell) -> None:
    """E4: whatever path, drive, control character or header stands in the name that a form gives."""
    outcomes = Counter[int]()

    for name in choose_names(amount(selection=50, full=1000)):
        for disposition in dispositions_of(name):
            answer = upload_as(base, disposition)
            outcomes[answer.status_code] += 1
            assert answer.status_code in (202, 400, 415, 422), (disposition, answer.text)
            if answer.status_code == 202:
                assert_harmless(answer.json()["filename"])
                base.api.post(f"/jobs/{answer.json()['id']}/cancel", params={"forget": True})

    tell(f"{outcomes.total()} uploads with hostile names, answered {dict(outcomes)}")
    assert outcomes[202] > outcomes.total() // 4


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../walrus.txt", "walrus.txt"),
        ("..\\..\\walrus.txt", "walrus.txt"),
        ("C:walrus.txt", "walrus.txt"),
        ("/etc/walrus.txt", "walrus.txt"),
        ("..", "unnamed"),
        ("Walrus.TXT", "Walrus.TXT"),
        ("walrus.txt", "walrus.txt"),
        (unicodedata.normalize("NFC", "wälrus.txt"), unicodedata.normalize("NFC", "wälrus.txt")),
        (unicodedata.normalize("NFD", "wälrus.txt"), unicodedata.normalize("NFD", "wälrus.txt")),
        ("\u202ewalrus.txt", "walrus.txt"),
        ("\u05e9\u05d9\u05e8\u200f \u0645\u06cc\u200c\u062e.txt", "\u05e9\u05d9\u05e8 \u0645\u06cc\u200c\u062e.txt"),
        ("-walrus.txt", "-walrus.txt"),
        ("CON.txt", "CON.txt"),
        ('a"b;c=d.txt', 'a"b;c=d.txt'),
    ],
)
def test_name_loses_only_control_characters_and_folders(base: Base, given: str, shown: str) -> None:
    """E4, E13: twins of another case or normal form are other names, and the download has the same one."""
    escaped, *_ = dispositions_of(given)
    submitted = upload_as(base, escaped, f"The walrus {given!r} rests.")
    base.work_off()
    document_id = base.api.get(f"/jobs/{submitted.json()['id']}").json()["document_id"]

    assert base.api.get(f"/documents/{document_id}").json()["filename"] == shown
    assert_download_is_called(base, document_id, shown)


def assert_download_is_called(base: Base, document_id: object, name: str) -> None:
    """One header by RFC 6266, in plain ASCII, that other programs read as the same name."""
    answer = base.api.get(f"/documents/{document_id}/file")
    (disposition,) = answer.headers.get_list("content-disposition")
    parsed = Message()
    parsed["Content-Disposition"] = disposition

    assert answer.status_code == 200
    assert re.fullmatch(r"attachment; filename\*=UTF-8''[A-Za-z0-9_.~%-]+", disposition), disposition
    assert parsed.get_content_disposition() == "attachment"
    # The parser takes white space off the ends of any name.
    assert parsed.get_filename() == name.strip()
    assert "x-evil" not in answer.headers


def test_no_name_from_a_bundle_or_a_path_breaks_out_of_its_header(base: Base, tell: Tell) -> None:
    """E13, E21, C6: a bundle is refused, or its document downloads under its name without control characters."""
    outcomes = Counter[str]()
    moved = base.add_note("The walrus rests.")

    for number, name in enumerate(choose_names(amount(selection=60, full=1000)), start=1000):
        document = portable_file(
            b"The walrus rests.", number, filename=name, uuid=uuid.UUID(int=number), vector_model=""
        )
        imported = base.api.post(
            "/import", content=pack([b"The walrus rests.", document]), headers={"Content-Type": "application/x-tar"}
        )
        outcomes[f"bundle {imported.status_code}"] += 1
        assert imported.status_code in (200, 422), (name, imported.text)
        assert (imported.status_code == 422) == (REFUSED_IN_BUNDLES.search(name) is not None), name
        if imported.status_code == 200:
            assert_download_is_called(base, document.record.uuid, NO_PLACE.sub("", name))

        changed = base.api.patch(f"/documents/{moved}", json={"source_path": name})
        outcomes[f"path {changed.status_code}"] += 1
        assert changed.status_code == (200 if len(name) <= 4096 and "\0" not in name else 422), (name, changed.text)
        shown = base.api.get(f"/documents/{moved}").json()["filename"]
        assert_harmless(shown)
        assert_download_is_called(base, moved, shown)

    tell(f"{outcomes.total()} hostile names in bundles and paths: {dict(outcomes)}")


def test_no_name_of_a_member_makes_a_bundle_write_anywhere(base: Base) -> None:
    """E21: what a bundle calls its members is compared, never opened."""
    for name in (
        *choose_names(amount(selection=20, full=200)),
        f"originals/../../{CANARY}",
        f"documents/{CANARY}.json",
    ):
        if len(name.encode()) <= LONGEST_MEMBER_NAME:
            content = begin_bundle() + pack_member(name, b"{}") + end_bundle(documents=0, originals=0)
            answer = base.api.post("/import", content=content, headers={"Content-Type": "application/x-tar"})
            assert answer.status_code == 422, (name, answer.text)


@pytest.mark.parametrize("toolsets", TOOLSETS, ids=",".join)
def test_no_name_that_an_agent_gives_is_a_place(
    base: Base, tmp_path: Path, toolsets: tuple[str, ...], tell: Tell
) -> None:
    """M13, M16: uploads are staged under names of our own, and no path leads out of the folders that may be read."""
    outcomes = Counter[str]()
    with open_mcp(base, toolsets, tmp_path) as call_mcp:
        for name in choose_names(amount(selection=25, full=500)):
            calls = {"kb_upload_start": {"filename": name, "total_size": 1}, "kb_upload_finish": {"upload_id": name}}
            if "knowledge" in toolsets:
                calls["knowledge-add"] = {"file_path": name}
            for tool, arguments in calls.items():
                answer = call_mcp("tools/call", {"name": tool, "arguments": arguments})["result"]["structuredContent"]
                outcomes[f"{tool} {answer.get('error', 'success')}"] += 1
                assert answer.get("error") != "internal_error", (tool, name)
                assert tool == "kb_upload_start" or "error" in answer, (tool, name, answer)

    tell(f"{outcomes.total()} hostile names from agents: {dict(outcomes)}")
