import pytest

from kb.cli.evaluating.attempts import Attempt, By, Figures, Hit, measure
from kb.cli.evaluating.diagnosis import GarbledText, Outranked, Reason, TitleSaysNothing, UnreadParts
from kb.cli.evaluating.languages import name_foreign_language
from kb.cli.evaluating.likeness import cut_shingles, share_within
from kb.cli.evaluating.noise import is_noise, measure_noise
from kb.cli.evaluating.reading import places_to_read, spread_out
from kb.cli.evaluating.self_test import SelfTest, Verdict
from kb.cli.evaluating.titles import says_nothing
from kb.client import Json

LETTER = "Dear tenant, the yearly statement of heating and water costs for your flat is enclosed."
GERMAN = (
    "Die Bibliothek ist am Montag nicht offen, und die Bücher werden von der Leitung mit dem Wagen in das Haus geholt."
)


@pytest.mark.parametrize(
    "title",
    [
        *(
            "Scan 0001",
            "Untitled",
            "42",
            "2024-05-01",
            "IMG_2031.JPG",
            "scan0001.pdf",
            "Dokument1.docx",
            "3f2a9b8c-77d1",
            "3f2a9b8c-7c7d",
            "0d1e29b4-e29b-41d4-a716-446655440000.pdf",
            "x7k9q",
        ),
        *("Microsoft Word - Document1", "???", "New document (3)", "image-20240102-wa0003.jpg", ""),
    ],
)
def test_titles_that_scanners_and_programs_give_say_nothing(title: str) -> None:
    assert says_nothing(title)


@pytest.mark.parametrize(
    "title",
    [
        "Lease of the boathouse",
        "Apollo11",
        "H2O",
        "Fabaceae",
        "B2B",
        "COVID-19 guide",
        "scan of the lease",
        "港の記録",
        "Ω",
        "Rent 2024.pdf",
    ],
)
def test_titles_that_people_give_say_something(title: str) -> None:
    assert not says_nothing(title)


@pytest.mark.parametrize("word", ["c0mm|ttee", "tl-e4x", "prszt", "lllm", "q", "hArBour", "xvbnmkl", "r~~rn"])
def test_what_no_language_has_is_noise(word: str) -> None:
    assert is_noise(word)


@pytest.mark.parametrize(
    "word",
    ["harbour", "it's", "e-mail", "and/or", "2nd", "12.5kg", "A", "NATO", "BBC", "Größe", "u.s", "notes.md", "Straße"],
)
def test_what_ordinary_texts_have_is_no_noise(word: str) -> None:
    assert not is_noise(word)


def test_of_few_words_and_of_other_scripts_noise_cannot_be_told() -> None:
    assert measure_noise("q w r t") is None
    assert measure_noise("図書館は月曜日に休みます。" * 20) is None
    assert measure_noise("図書館は月曜日に休みます。 f(x) H2O x1 " * 20) is None


def test_the_share_of_a_text_in_another_one_does_not_depend_on_chunks() -> None:
    words = LETTER.split()
    whole, cut = cut_shingles([LETTER]), cut_shingles([" ".join(words[:6]), " ".join(words[6:])])

    assert share_within(whole, cut) == 1
    assert share_within(whole, cut_shingles([f"{LETTER} And so much more of it."])) == 1
    assert share_within(cut_shingles([f"{LETTER} {'And so much more of it. ' * 9}"]), whole) < 1
    assert share_within(whole, cut_shingles(["Nothing of the kind is in here at all"])) == 0
    assert share_within(cut_shingles([]), whole) == 0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (LETTER * 3, None),
        ("x1 = 7", None),
        (GERMAN, "German"),
        ("图书馆星期一休息", "Chinese"),
        ("図書館は月曜日に休みます。", "Japanese"),
        ("ห้องสมุดปิดวันจันทร์", "Thai script"),
        ("Библиотека закрыта", "Cyrillic script"),
    ],
)
def test_a_language_is_named_if_it_is_not_english(text: str, language: str | None) -> None:
    assert name_foreign_language(text) == language


def test_a_sample_is_spread_out_and_the_same_each_time() -> None:
    documents: list[Json] = [{"id": number} for number in range(100)]

    assert [document["id"] for document in spread_out(documents, 4)] == [0, 25, 50, 75]
    assert spread_out(documents, 1000) == documents
    assert spread_out([], 10) == []


@pytest.mark.parametrize("chunk_count", [0, 1, 24, 25, 30, 1000])
def test_of_a_long_document_beginning_middle_and_end_are_read_and_nothing_twice(chunk_count: int) -> None:
    places = places_to_read(chunk_count)
    read = [chunk for offset, limit in places for chunk in range(offset, offset + limit)]

    assert len(read) == len(set(read)) == min(chunk_count, 24)
    assert not read or (read[0], read[-1]) == (0, chunk_count - 1)


def attempt(by: By, *ranking: int, document_id: int = 7) -> Attempt:
    return Attempt(by, "words", document_id, tuple(Hit(number, "title") for number in ranking))


def judge(*reasons: Reason, title: int = 7, phrases: tuple[int, ...] = (7,), called: str = "Lease") -> Verdict:
    """A verdict on document 7, of what came first by its title and by its phrases."""
    attempts = attempt(By.TITLE, title), *(attempt(By.PHRASE, phrase) for phrase in phrases)
    return Verdict({"id": 7, "title": called, "doc_type": "pdf", "metadata": {}}, attempts, (), reasons)


def test_the_figures_tell_how_many_were_found_and_how_far_up() -> None:
    attempts = [attempt(By.PHRASE, 7), attempt(By.PHRASE, 1, 7), attempt(By.PHRASE, 1, 2), attempt(By.TITLE, 1)]

    assert measure(attempts, By.PHRASE) == Figures(asked=3, found=2, recall=2 / 3, mrr=1.5 / 3)
    assert measure([], By.TITLE) == Figures(0, 0, 0.0, 0.0)


def test_a_document_is_lost_if_neither_its_title_nor_its_text_helps() -> None:
    garbled = GarbledText(was_recognised=True, pages=())

    assert judge(title=1, phrases=(1, 1)).is_lost
    assert judge(garbled, called="Scan 0001").is_lost
    assert not judge(garbled).is_lost
    assert not judge(title=1).is_lost
    assert not judge(phrases=(1, 7), called="Scan 0001").is_lost


def test_the_worst_come_first_and_what_is_found_does_not_come_at_all() -> None:
    unread = UnreadParts("page", ("3",))
    found, lost = judge(), judge(unread, title=1, phrases=(1,))
    half, by_text, by_title = judge(unread, phrases=(1, 7)), judge(unread, title=1), judge(unread, phrases=(1,))

    tested = SelfTest(5, [found, by_text, half, lost, by_title], is_degraded=False)

    assert tested.hard_to_find == [lost, by_title, half, by_text]


def test_pictures_without_words_are_told_apart_if_they_are_found() -> None:
    photograph = {"id": 1, "title": "Meadow", "doc_type": "image", "metadata": {}}
    scan = {"id": 2, "title": "Lease", "doc_type": "image", "metadata": {"ocr_confidence": 0.98}}
    verdicts = [Verdict(document, (), (), ()) for document in (photograph, scan)]

    assert SelfTest(2, verdicts, is_degraded=False).wordless_pictures == [photograph]


def test_every_reason_has_a_code_of_its_own() -> None:
    kinds = Reason.__args__

    assert len({kind.code for kind in kinds}) == len(kinds)
    assert (Outranked.code, TitleSaysNothing.code) == ("outranked", "title_says_nothing")
