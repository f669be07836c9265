import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.evaluating.phrases import MOST_PHRASES, TERMS_OF_PHRASE, count_documents, pick_phrases
from kb.cli.evaluating.terms import find_terms, type_plainly

DULL = "the house is in the town and the town is by the sea " * 4


def pick(*chunks: str, others: tuple[str, ...] = (DULL,)) -> list[str]:
    documents = [chunks, *([other] for other in others)]
    return pick_phrases(chunks, count_documents(documents), len(documents))


def test_the_rarest_words_of_a_chunk_are_picked_as_they_stand_in_a_row() -> None:
    assert pick(f"{DULL} where Zinnias outgrow every Marigold, cosmos and dahlia. {DULL}") == [
        "Zinnias outgrow every Marigold cosmos and"
    ] or ["outgrow every Marigold cosmos and dahlia"]


def test_a_long_document_has_a_phrase_from_its_beginning_its_middle_and_its_end() -> None:
    chunks = [f"{DULL} {flower} blooms" for flower in ("aster", "begonia", "crocus", "dahlia", "erica", "freesia")]

    phrases = pick(*chunks)

    assert len(phrases) == MOST_PHRASES
    assert [any(flower in phrase for phrase in phrases) for flower in ("aster", "crocus", "erica")] == [True] * 3


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Tide table", "Tide table"),
        ("図書館は月曜日に休みます。", "図書館は月曜日"),
        ("ห้องสมุดปิดวันจันทร์", "ห้องสมุดปิ"),
        ("हिन्दी में लिखा हुआ", "हिन्दी में लिखा हुआ"),
        ('He said "-never" again', "He said never again"),
    ],
)
def test_a_phrase_is_typed_without_signs_in_any_script(text: str, phrase: str) -> None:
    assert pick(text) == [phrase]


def test_numbers_and_noise_tell_nothing_if_there_are_words() -> None:
    text = f"x7|q 99-1838 k~vv 8812 zz0z 4711 {DULL} quinces ripen slowly beside cellar walls"

    assert pick(text) == ["quinces ripen slowly beside cellar walls"]


def test_what_nobody_would_type_is_in_no_phrase() -> None:
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 20

    assert pick(f"{picture} quinces ripen slowly beside cellar walls {picture}") == [
        "quinces ripen slowly beside cellar walls"
    ]
    assert pick(f"See {picture} for pumps") == ["for pumps"]
    assert pick(picture) == []


def test_a_document_without_words_has_no_phrase() -> None:
    assert pick() == []
    assert pick("-- ** --") == []


def test_the_same_phrase_is_told_once() -> None:
    assert pick("Tide table", "Tide table") == ["Tide table"]


@given(st.lists(st.text(max_size=200), max_size=8))
def test_any_text_has_few_short_phrases_that_mean_nothing_special(chunks: list[str]) -> None:
    phrases = pick(*chunks)

    assert len(phrases) <= MOST_PHRASES
    assert all(phrase == type_plainly(phrase) and '"' not in phrase for phrase in phrases)
    assert all(not word.startswith("-") for phrase in phrases for word in phrase.split())
    assert all(phrase for phrase in phrases)


@given(st.text(max_size=300))
def test_terms_stand_where_they_say(text: str) -> None:
    for term in find_terms(text):
        assert text[term.start : term.end].casefold() == term.text


def test_six_words_are_a_phrase() -> None:
    assert [len(phrase.split()) for phrase in pick("one two three four five six seven eight")] == [TERMS_OF_PHRASE]
