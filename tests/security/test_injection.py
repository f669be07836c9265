"""What callers write is a value, never a piece of SQL nor of the language of the full-text index."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.amounts import Tell, amount
from tests.api_calls import Answer
from tests.security.naughty_strings import FORMATS, FULL_TEXT, QUOTES, SQL
from tests.security.open_programs import Base, Json, open_base

from kb.engine.ports import Embedder

LISTED = [*SQL, *FULL_TEXT, *QUOTES, *FORMATS]
# Words that the base has, names of columns and tables, and all that means something to SQLite or FTS5.
WORDS = [
    "walrus",
    "seal",
    "ice",
    "title",
    "heading",
    "body",
    "rowid",
    "rank",
    "chunks_fts",
    "documents",
    "x",
    "1",
    "ß",
    "海",
]
OPERATORS = [
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR(",
    "UNION",
    "SELECT",
    "LIKE",
    "MATCH",
    "--",
    "/*",
    "*/",
    "||",
    "\n",
    "\t",
]
SIGNS = [*"""'"*^:;,.()[]{}+-=<>|&!?%$@#~`/\\_ """]
PIECES = st.lists(st.sampled_from([*WORDS, *OPERATORS, *SIGNS]), min_size=1, max_size=12)
INJECTIONS = st.builds(str.join, st.sampled_from(["", " "]), PIECES)
# Of all that can be typed these two mean something: a phrase in quotes must be there, and -word must not.
PLAIN_INJECTIONS = INJECTIONS.map(lambda text: text.replace('"', " ").replace("-", " "))
FAST_SECONDS = 10
INJECTION = "sea' OR '1'='1"

SEARCH_VALUES = ("tags", "format", "doc_type", "source_path", "metadata key", "metadata value", "date_range")
LISTING_VALUES = ("tag", "format", "doc_type", "source_path", "source_folder")
OTHER_PARAMETERS = ("q", "sort", "order", "limit", "offset")
# A date, an order or a number that begins with a letter is none.
NEVER_LOOKED_UP = {"search date_range", *(f"listing {name}" for name in ("sort", "order", "limit", "offset"))}
ID_PATHS = ("/documents/{}", "/jobs/{}", "/documents/{}/file", "/notes/{}/revisions")


def hostile_settings(examples: int) -> settings:
    return settings(
        max_examples=examples, derandomize=True, deadline=None, suppress_health_check=[*HealthCheck], database=None
    )


@pytest.fixture(scope="module")
def base(embedder: Embedder) -> Iterator[Base]:
    """Notes that have a word only in the title, only in the text, or beside the name of a column or an operator."""
    notes = [
        ("Walrus", "Ice and snow."),
        ("Seal", "The walrus rests."),
        ("Title", "Body of a seal."),
        ("Ice", "Rank x."),
    ]
    with open_base(embedder) as base:
        for title, text in notes:
            base.add_note(text, title=title, tags=["sea"], source_path=f"/notes/{title}", metadata={"kind": title})
        yield base


@pytest.fixture
def unchanged(base: Base) -> Iterator[None]:
    """Whatever is asked changes neither the tables nor how many rows they have."""
    before = measure_database(base)
    yield
    assert measure_database(base) == before


def measure_database(base: Base) -> tuple[object, ...]:
    with closing(apsw.Connection(str(base.folder / "kb.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        schema = [tuple(map(str, row)) for row in db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")]
        tables = [name for kind, name, sql in schema if kind == "table" and "VIRTUAL" not in sql]
        counts = [db.execute(f'SELECT count(*) FROM "{name}"').get for name in tables]  # noqa: S608 - ours
        return schema, tables, counts


def found_by(base: Base, query: str) -> list[int] | None:
    """The chunks that keyword search finds; None if the query is refused."""
    answer = base.api.post("/search", json={"query": query, "mode": "fts", "top": 200})
    assert answer.status_code in (200, 422), (query, answer.text)
    return [hit["chunk_id"] for hit in answer.json()["results"]] if answer.status_code == 200 else None


def words_of(query: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", query.lower()))


@pytest.mark.usefixtures("unchanged")
def test_no_operator_means_anything_in_a_query(base: Base, tell: Tell) -> None:
    """S4: an operator is a sign between words or a word like others; a column that is named limits nothing."""
    outcomes = Counter[str]()

    @hostile_settings(amount(selection=100, full=2500))
    @given(PLAIN_INJECTIONS)
    def check(query: str) -> None:
        found = found_by(base, query)
        outcomes["refused" if found is None else "found something" if found else "found nothing"] += 1
        assert (found is None) == (not query.strip())
        if found is not None and words_of(query):
            assert found == found_by(base, words_of(query)), query

    check()
    tell(f"{outcomes.total()} queries with operators in vain: {dict(outcomes)}")
    assert outcomes["found something"] > outcomes.total() // 4


@pytest.mark.usefixtures("unchanged")
def test_no_query_is_a_syntax_error_or_finds_what_is_not_there(base: Base, tell: Tell) -> None:
    """S4: quotes and hyphens among the rest, unbalanced as they come."""
    everything = set(found_by(base, "walrus ice snow seal rests title body rank x") or ())
    outcomes = Counter[str]()

    def ask(query: str) -> None:
        found = found_by(base, query)
        outcomes["refused" if found is None else "answered"] += 1
        assert found is None or {*found} <= everything, query

    @hostile_settings(amount(selection=100, full=1000))
    @given(INJECTIONS)
    def check(query: str) -> None:
        ask(query)

    for query in LISTED:
        ask(query)
    check()
    tell(f"{outcomes.total()} queries of all signs: {dict(outcomes)}")


def search_with(base: Base, place: str, text: str) -> Answer:
    filters: Json = {place: text}
    if place == "metadata key":
        filters = {"metadata": {text: "x"}}
    elif place == "metadata value":
        filters = {"metadata": {"kind": text}}
    elif place == "date_range":
        filters = {"date_range": {"start": text}}
    scope: Json = {"tags": [text]} if place == "tags" else {"filters": filters}
    return base.api.post("/search", json={"query": "walrus seal ice title", "mode": "fts", **scope})


@pytest.mark.usefixtures("unchanged")
def test_a_filter_that_names_nothing_finds_nothing(base: Base, tell: Tell) -> None:
    """S3, E10: no text in a filter, a parameter or an id makes it wider, whatever it would mean to SQL."""
    statuses: dict[str, Counter[int]] = defaultdict(Counter)

    def ask(text: str) -> None:
        # What is one of them by chance, alone or without the blanks around it, is asked for by no injection.
        text = f"x{text}"
        answers = {f"search {place}": search_with(base, place, text) for place in SEARCH_VALUES}
        for place in (*LISTING_VALUES, *OTHER_PARAMETERS):
            answers[f"listing {place}"] = base.api.get("/documents", params={place: text})
        for path in ID_PATHS:
            answers[path] = base.api.get(path.format(quote(text, safe="")))
        for place, answer in answers.items():
            statuses[place][answer.status_code] += 1
            assert answer.status_code in (404, 422) or not found_in(answer.json()), (place, text, answer.text)

    @hostile_settings(amount(selection=10, full=300))
    @given(INJECTIONS)
    def check(text: str) -> None:
        ask(text)

    for text in LISTED[:: amount(selection=6, full=1)]:
        ask(text)
    check()
    looked_up = sum(seen[200] + seen[404] for seen in statuses.values())
    refused = sum(seen[422] for seen in statuses.values())
    tell(f"{looked_up} injections looked up in vain, {refused} refused as no value of their kind; nothing changed")
    assert {place for place, seen in statuses.items() if {*seen} == {422}} == NEVER_LOOKED_UP


def found_in(told: Json) -> list[Json]:
    found: list[Json] = told["results"] if "results" in told else told["documents"]
    return found


@pytest.mark.parametrize(
    ("fields", "scope"),
    [
        ({"tags": [INJECTION]}, {"tags": [INJECTION]}),
        ({"metadata": {INJECTION: INJECTION}}, {"filters": {"metadata": {INJECTION: INJECTION}}}),
        ({"source_path": INJECTION}, {"filters": {"source_path": INJECTION}}),
        ({"title": INJECTION}, {}),
    ],
)
def test_a_stored_injection_is_only_found_as_itself(base: Base, fields: Json, scope: Json) -> None:
    """E16, S1: what looks like SQL is kept, found by its own name alone, and deleted like all else."""
    document_id = base.add_note("An orca.", **fields)

    found = base.api.post("/search", json={"query": "orca", "mode": "fts", **scope}).json()["results"]

    assert [hit["document_id"] for hit in found] == [document_id]
    assert base.api.delete(f"/documents/{document_id}").status_code == 200
    assert base.api.get("/documents").json()["total"] == 4


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "query",
    [
        "walrus " * 15_000,
        "a" * 100_000,
        "a b " * 2500,
        '"a" ' * 2500,
        "-a " * 3333,
        '"' * 10_000,
        "(" * 10_000,
        "海" * 10_000,
    ],
    ids=[
        "100 kB",
        "one long word",
        "5,000 terms",
        "2,500 phrases",
        "3,333 exclusions",
        "quotes",
        "brackets",
        "unspaced",
    ],
)
def test_a_monstrous_query_is_refused_or_fast(base: Base, query: str) -> None:
    began = time.monotonic()

    found = found_by(base, query)

    assert (found is None) == (len(query) > 10_000)
    assert time.monotonic() - began < FAST_SECONDS
