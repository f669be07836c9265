"""I2: source code is cut at its definitions, under the path of names that leads to each."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reading import SAMPLES, read_file, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.parts import PART_CHARACTERS
from kb.engine.ingestion.extraction.readers.text.code import sections_of_code

CODE = SAMPLES / "code"


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        (
            "greenhouse.py",
            [None, "Bed", "Bed > litres", "Bed > litres > rounded", "Bed > litres", "Bed > water", None, None],
        ),
        (
            "basket.ts",
            [None, "Item", "Voucher", "Basket > constructor", "Basket > add", "Basket > total", "loadBasket", None],
        ),
        ("Library.java", [None, "Library > Library", "Library > lend", "Library > Shelf > take"]),
        ("ring.c", [None, "ring", "ring_put", "ring_take"]),
        ("store.go", [None, "Store", "Store.Put", "Open"]),
        ("parser.rs", [None, "Token", "Visit > visit", "fmt::Display for Token<'a> > fmt", "parse"]),
        ("orders.sql", ["shop.customers", "customers_by_name", "shop.count_orders"]),
        ("account.rb", [None, "Bank > Account > self.open", "Bank > Account > overdrawn?"]),
        ("deploy.sh", [None, "complain", "roll_back"]),
        ("service.toml", [None, "server", "server.limits", "stations"]),
    ],
)
def test_code_is_cut_at_its_definitions(name: str, headings: list[str | None]) -> None:
    """I2"""
    document = read_sample(f"code/{name}")

    assert document.format == "code"
    assert document.title is None
    assert [section.heading for section in document.sections] == headings
    assert "".join(section.text for section in document.sections) == (CODE / name).read_text()


@pytest.mark.parametrize(
    ("name", "heading", "start", "end"),
    [
        ("greenhouse.py", "Bed", "# A bed is what gets watered as one.\n@dataclass(", "square_metres: float"),
        ("greenhouse.py", "Bed > water", "    async def water(\n        self,", "close_valve(self.name)"),
        ("Library.java", "Library > lend", "    /** Lends a book to a reader. */\n    @Override", ": 4));\n    }"),
        ("ring.c", "ring_put", "/* Put an item in.", "return true;\n}"),
        ("parser.rs", "Token", "/// What a line can be.\n#[derive(Debug, Clone)]", "so we do not\n}"),
        ("store.go", "Store.Put", "// Put keeps a value under a name.", "\treturn nil\n}"),
        ("orders.sql", "shop.count_orders", "CREATE OR REPLACE FUNCTION", "END;\n$$;"),
    ],
)
def test_a_definition_has_what_stands_above_it_and_all_of_its_body(
    name: str, heading: str, start: str, end: str
) -> None:
    section = next(section for section in read_sample(f"code/{name}").sections if section.heading == heading)

    assert section.text.startswith(start)
    assert section.text.rstrip().endswith(end)


def test_small_definitions_side_by_side_share_a_section_of_what_they_lie_in() -> None:
    methods = "".join(f"    def method_{number}(self): return {number}\n\n" for number in range(20))
    functions = "".join(f"def function_{number}(): return {number}\n\n" for number in range(20))

    sections = sections_of_code(f"class Thing:\n{methods}\n{functions}")

    assert [(section.heading, section.text.count("def ")) for section in sections] == [("Thing", 20), (None, 20)]


@pytest.mark.parametrize(
    "text",
    [
        "The type of the thing is unknown.\nclass of problems that nobody solved\nfunction words are short\n" * 9,
        "# def commented_out():\n// class Gone {\n-- CREATE TABLE gone (\n" * 9,
        "if (a) {\n  call(b, {\n    c: 1 });\n} else if (d) {\n}\nreturn new Thing(a) {\n}\n" * 9,
        'text = """\ndef quoted():\n    pass\n"""\n' * 9,
        "key: value\nlist:\n  - one\n  - two\n" * 9,
        ".button { color: red }\n@media print {\n  .button { display: none }\n}\n" * 9,
    ],
)
def test_what_only_looks_like_a_definition_is_none(text: str) -> None:
    assert [section.heading for section in sections_of_code(text)] == [None]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("export default async function load(path) {", "load"),
        ("public static <T> Map<String, List<T>> group(List<T> all) {", "group"),
        ("void Parser::next(Token &token) const {", "Parser::next"),
        ("const add = (a, b) => {", "add"),
        ("exports.add = function (a, b) {", "add"),
        ("add <- function(a, b) {", "add"),
        ("pub(crate) unsafe fn add(a: i32) -> i32 {", "add"),
        ("func add(a: Int) -> Int {", "add"),
        ("suspend fun add(a: Int): Int = a", "add"),
        ("defmodule Shop.Basket do", "Shop.Basket"),
        ("(defn add [a b]", "add"),
        ("(define (add a b)", "add"),
        ("local function add(a, b)", "add"),
        ("sub add {", "add"),
        ("function Get-Item {", "Get-Item"),
        ("- (void)addItem:(Item *)item {", "addItem"),
        ("CREATE MATERIALIZED VIEW monthly AS", "monthly"),
        ("create table if not exists `orders` (", "`orders`"),
        ("data class Point(val x: Int)", "Point"),
        ("type Query {", "Query"),
        ("message Order {", "Order"),
        ("\\section{Results}", "Results"),
    ],
)
def test_definitions_of_many_languages_are_known(line: str, name: str) -> None:
    text = f"{line}\n" + "  something that it does, and a little more of that\n" * 5

    assert [section.heading for section in sections_of_code(text)] == [name]


def test_tabs_and_blank_lines_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"def f():\r\n\tif x:\r\n\r\n\r\n\t\treturn  1\r\n")

    assert read_file(file).text == "def f():\n\tif x:\n\n\n\t\treturn  1\n"


def test_code_with_no_text_has_none_to_find(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("\n \n\t\n")

    with pytest.raises(Unreadable) as refused:
        read_file(file)

    assert refused.value.code == "no_text_found"


def test_long_code_is_read_in_parts(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    columns = "  a TEXT,\n" * 100
    text = "".join(f"CREATE TABLE t{n} (\n{columns});\n" for n in range(1_500)) + "-- end " * 200_000
    file.write_text(text)

    document = read_file(file)

    assert len(document.parts) > 4
    assert all(sum(len(section.text) for section in part) <= PART_CHARACTERS for part in document.parts)
    assert "".join(section.text for section in document.sections) == text


@pytest.mark.parametrize(
    "definition",
    [
        "def f{}(x):\n    return '{}'\n",
        "def f{}(x):\n    return '{}'\n\n",
        "int f{}(int a,\n  int b)\n{{\n  g('{}');\n}}\n\n",
    ],
)
def test_definitions_are_found_wherever_they_stand_in_a_long_file(definition: str) -> None:
    """I2"""
    sections = sections_of_code("".join(definition.format(n, "x" * 300) for n in range(8_000)))

    assert [section.heading for section in sections] == [f"f{n}" for n in range(8_000)]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "\n\n" + "x" * 3_000_000 + "\ny",
        "class A:\n" * 20_000,
        "def f(" * 150_000,
        "\n".join(" " * (depth % 1_000) + "class A:" for depth in range(1_000)),
        "a b " * 250_000 + "(",
        "const f = (" + ")" * 100_000,
        "int f(a,\n" * 20_000,
        "@x(\n" * 40_000,
        "/*\n" + "* class A {\n" * 20_000,
        "\t" * 1_000_000 + "def f():",
        "[" * 500_000 + "a" + "]" * 500_000,
        ("class " + "a" * 390 + " !\n") * 2_500,
        ("class " + "a." * 195 + " !\n") * 2_500,
        ("func (" + "a" * 390 + "\n") * 2_500,
        ("const a = (" + ")" * 385 + "\n") * 2_500,
        ("type a " + "b" * 390 + " !\n") * 2_500,
        ("[a" + " " * 390 + "b\n") * 2_500,
        ("[" + " " * 390 + "!\n") * 7_500,
        ("static " * 50 + "const const\n") * 2_500,
        ("@a" * 195 + " !\n") * 2_500,
    ],
)
def test_hostile_code_takes_no_longer_than_its_length(text: str) -> None:
    started = time.process_time()

    sections = sections_of_code(text)

    assert time.process_time() - started < 2
    assert "".join(section.text for section in sections) == text
    assert all(len(section.heading or "") < 1_000 for section in sections)


LINES = st.sampled_from(
    [
        "class A:",
        "def f(x):",
        "  def g():",
        "    return {",
        "}",
        "",
        "int main(void)",
        "{",
        "# comment",
        "@decorated(",
        ")",
        '"""',
        "/* open",
        "*/",
        "[table]",
        "x = 1  " + "y" * 200,
        "CREATE TABLE t (",
        "\tconst f = (a) => {",
        "end",
    ]
)


@given(st.lists(LINES, max_size=40).map("\n".join) | st.text(max_size=300))
def test_sections_of_code_lose_nothing(text: str) -> None:
    assert "".join(section.text for section in sections_of_code(text)) == text
