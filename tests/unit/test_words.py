import apsw
import pytest

from kb.engine.words import find_words, fold, pair_up, space_out, spellings_of, split_runs


@pytest.mark.parametrize(
    ("text", "spaced"),
    [
        ("今天天气", "今 天 天 气"),
        ("iPhone手机ok", "iPhone 手 机 ok"),
        ("データベース", "デ ー タ ベ ー ス"),
        ("ﾊﾟｿｺﾝ", "パ ソ コ ン"),
        ("한국어 검색", "한 국 어 검 색"),
        ("ไม่ดี", "ไ ม่ ดี"),
    ],
)
def test_characters_of_unspaced_scripts_stand_alone(text: str, spaced: str) -> None:
    """S6"""
    assert space_out(text) == spaced


def test_compatibility_forms_become_the_plain_ones() -> None:
    assert space_out("\uff21\uff22\uff23 \ufb01le") == "ABC file"


@pytest.mark.parametrize("text", ["plain English", "accents: déjà vu, Größe", "Привет", ""])
def test_text_that_needs_no_change_is_returned_as_it_is(text: str) -> None:
    assert space_out(text) is text


def test_spacing_out_twice_changes_nothing_more() -> None:
    once = space_out("第3章 iPhone手机 ไม่ดี")

    assert space_out(once) == once


@pytest.mark.parametrize("wanted", ["天气", "データ", "검색", "ไทย", "ខ្មែរ", "𠮷野"])
def test_the_keyword_index_finds_unspaced_words_as_phrases(wanted: str) -> None:
    """S6"""
    index = apsw.Connection(":memory:")
    index.execute("CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61 remove_diacritics 2')")
    for text in ("今天天气怎么样", "データベース", "한국어검색엔진", "ภาษาไทยง่าย", "ភាសាខ្មែរ", "𠮷野家"):
        index.execute("INSERT INTO f VALUES (?)", (space_out(text),))

    found = index.execute("SELECT count(*) FROM f WHERE f MATCH ?", (f'"{space_out(wanted)}"',)).get

    assert found == 1


def test_a_word_is_split_where_its_script_changes() -> None:
    assert list(split_runs("第3章")) == [("第", True), ("3", False), ("章", True)]


def test_a_run_is_paired_up_by_neighbours_with_their_marks() -> None:
    assert pair_up("天气好") == ["天气", "气好"]
    assert pair_up("ไม่ดี") == ["ไม่", "ม่ดี"]
    assert pair_up("好") == ["好"]


def test_words_keep_their_vowel_signs_and_split_at_underscores() -> None:
    assert list(find_words("हिन्दी snake_case, iPhone手机 🎉")) == ["हिन्दी", "snake", "case", "iPhone", "手机"]


@pytest.mark.parametrize(
    ("a", "b"), [("Élan", "elan"), ("ЁЖ", "еж"), ("STRASSE", "straße"), ("e\u0301te\u0301", "été")]
)
def test_words_that_differ_by_case_and_accents_fold_to_the_same(a: str, b: str) -> None:
    assert fold(a) == fold(b)


def test_folding_leaves_syllables_and_kana_whole() -> None:
    assert fold("각が") == "각が"


@pytest.mark.parametrize(
    ("text", "spellings"),
    [
        ("our wi-fi password", ["wifi", "wi fi"]),
        ("the well-known bird", ["wellknown"]),
        ("SHP-2 and miR7a", ["SHP2", "SHP 2", "miR 7 a"]),
        ("H2A.Z", ["H2AZ", "H2A Z", "H 2 A"]),
        ("version 3.5 of 2024-05-01", ["3 5", "2024 05 01"]),
        ("TCP/IP", ["TCPIP", "TCP IP"]),
        ("non\u2011breaking", ["nonbreaking"]),
        ("IL-6, IL-6", ["IL6", "IL 6"]),
        ("3f2a9c04d7", []),
        ("東京-大阪 第3章", []),
        ("snake_case a - b -c d- ... end. Next", []),
        ("plain words", []),
        ("", []),
    ],
)
def test_names_and_codes_are_written_in_several_ways(text: str, spellings: list[str]) -> None:
    assert spellings_of(text) == spellings
