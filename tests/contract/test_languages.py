"""Words of every script and language, found whatever their form."""

import pytest
from tests.handmade_documents import add_note, found_by_text

from kb.engine.model import Scope
from kb.engine.ports import Store


def test_words_are_found_in_all_their_forms(store: Store) -> None:
    document = add_note(store, "Planning the MIGRATION of databases")

    assert found_by_text(store, "plans") == [document.id]
    assert found_by_text(store, "migration") == [document.id]
    assert found_by_text(store, "DATABASE") == [document.id]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们在北京大学学习机器学习", "机器学习"),
        ("東京都に行きました。寿司を食べた。", "寿司"),
        ("データベースを移行する", "データベース"),
        ("데이터베이스를 이전했습니다", "데이터베이스"),
        ("오늘은 서울에서 회의가 있다", "서울"),
        ("ฉันชอบกินข้าวผัดที่ร้านนี้", "ข้าวผัด"),
        ("El niño comió jalapeños en el café", "jalapeno"),
        ("Das Gebäude ist größer", "gebaude"),
        ("cafe", "café"),
        ("\uff37\uff49\uff44\uff45 letters", "wide"),
        ("हिन्दी में लिखा हुआ", "हिन्दी"),
        ("Привет мир", "мир"),
        ("שלום עולם", "עולם"),
    ],
)
def test_s6_every_script_is_found_by_keyword(store: Store, text: str, query: str) -> None:
    document = add_note(store, text)
    add_note(store, "something else entirely 無関係")

    assert found_by_text(store, query) == [document.id]
    assert found_by_text(store, query, scope=Scope(required=(query,))) == [document.id]


@pytest.mark.parametrize(
    ("written", "sought"),
    [
        ("Teatrul a funcționat până toamna", "teatrului"),
        ("yeni şirketler kuruldu", "şirketlere"),
        ("столица стоит на реке", "столицей"),
        ("η βιβλιοθήκη είναι κλειστή", "βιβλιοθήκες"),
        ("ذهب الولد إلى المدرسة", "مدرسة"),
        ("قرأ كتابا عن مدارس", "والمدارس"),
        ("Die Schlossstraße ist gesperrt", "schlossstrasse"),
        ("Die Kuendigungsfristen sind kurz", "Kuendigungsfrist"),
    ],
)
def test_words_of_other_languages_are_found_with_any_ending(store: Store, written: str, sought: str) -> None:
    document = add_note(store, written)
    add_note(store, "something else entirely")

    found = store.find_by_text([sought], Scope(), limit=10, any_endings=True)

    assert found.matches.document_ids.tolist() == [document.id]
    assert found.best_possible > 0


def test_numbers_codes_and_words_of_unspaced_scripts_have_no_endings(store: Store) -> None:
    add_note(store, "invoice 20261115 and part AB1234567 東京都庁")

    for sought in ("20261116", "AB1234999", "東京駅前"):
        without = store.find_by_text([sought], Scope(), limit=10)
        found = store.find_by_text([sought], Scope(), limit=10, any_endings=True)
        assert found.matches.scores.tolist() == without.matches.scores.tolist()
        assert found.best_possible == without.best_possible


def test_required_and_excluded_phrases_are_exact_whatever_the_endings(store: Store) -> None:
    """S2"""
    exact = add_note(store, "зимняя столица на реке")
    add_note(store, "зимней столицы на реке")
    scope = Scope(required=("зимняя столица",))

    found = store.find_by_text(["столица"], scope, limit=10, any_endings=True)

    assert found.matches.document_ids.tolist() == [exact.id]


def test_another_spelling_of_a_word_is_not_another_word_to_be_found(store: Store) -> None:
    """Or no chunk could be nearly as good as the best possible one."""
    for number in range(20):
        add_note(store, f"other words {number} here")
    add_note(store, "Strasse")

    found = store.find_by_text(["Strasse"], Scope(), limit=10, any_endings=True)

    assert found.matches.scores[0] <= found.best_possible < 3 * found.matches.scores[0]


@pytest.mark.parametrize(
    "word",
    [
        "Information",
        "Dokumentation",
        "starych",
        "różnych",
        "geliyor",
        "analysis",
        "usingen",
        "كاليفورنيا",
        "والدين",
        "والكتاب",
        "بالإضافة",
        "straße",
        "1984",
    ],
)
def test_every_word_finds_itself_with_any_ending(store: Store, word: str) -> None:
    document = add_note(store, word)

    found = store.find_by_text([word], Scope(), limit=10, any_endings=True)

    assert found.matches.document_ids.tolist() == [document.id]


def test_other_forms_leave_room_for_all_words_of_a_long_query(store: Store) -> None:
    document = add_note(store, "последнее")
    query = [f"слово{'абвгдежзиклмнопрст'[number % 18]}{'абвг'[number // 18]}" for number in range(60)]

    found = store.find_by_text([*query, "последний"], Scope(), limit=10, any_endings=True)

    assert found.matches.document_ids.tolist() == [document.id]


@pytest.mark.parametrize(
    ("written", "words", "spellings"),
    [
        ("mice without SHP2 fell ill", ["SHP", "2"], ["SHP2", "SHP 2"]),
        ("mice without SHP-2 fell ill", ["SHP2"], ["SHP 2"]),
        ("the wifi is slow", ["wi", "fi"], ["wifi", "wi fi"]),
    ],
)
def test_names_are_found_however_they_are_written(
    store: Store, written: str, words: list[str], spellings: list[str]
) -> None:
    document = add_note(store, written)
    add_note(store, "something else entirely")

    found = store.find_by_text(words, Scope(), limit=10, spellings=spellings)

    assert found.matches.document_ids.tolist() == [document.id]


def test_a_name_that_stands_together_is_worth_more_than_its_parts_apart(store: Store) -> None:
    apart = add_note(store, "SHP and some 2 other things")
    together = add_note(store, "SHP-2 and some other things")

    found = store.find_by_text(["SHP", "2"], Scope(), limit=10, spellings=["SHP2", "SHP 2"])

    assert found.matches.document_ids.tolist() == [together.id, apart.id]


def test_other_spellings_are_expected_of_no_chunk(store: Store) -> None:
    add_note(store, "SHP-2 and some other things")
    for number in range(5):
        add_note(store, f"something else entirely {number}")

    plain = store.find_by_text(["SHP", "2"], Scope(), limit=10)
    found = store.find_by_text(["SHP", "2"], Scope(), limit=10, spellings=["SHP2", "SHP 2"])

    assert found.best_possible == plain.best_possible
    assert found.matches.scores[0] > plain.matches.scores[0]
