"""Text layers that say what the page shows, and layers that do not."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.readers.pdf.legibility import is_legible, is_noise

PROSE = """The keeper of the lighthouse climbs the stairs twice a night to wind the clockwork that turns the lamp.
In winter the panes freeze from within, and he scrapes them with a knife made of horn so that the glass is not
scratched. Every ship that passes is written down with the hour, the wind and the colour of her funnel."""
GOOD_LAYERS = {
    "English": PROSE,
    "capitals": PROSE.upper(),
    "German": "Der Müller prüft täglich die Größe der Säcke und schließt abends das Tor, bevor der Regen kommt.",
    "Polish": "Szczęśliwy rzeźnik sprzedał wszystkie kiełbasy jeszcze przed południem i zamknął sklep na klucz.",
    "Welsh": "Mae'r ysgol yn cynnwys llyfrgell fawr lle mae'r plant yn darllen llyfrau bob prynhawn dydd Mercher.",
    "Vietnamese": "Người lái đò đưa khách qua sông mỗi buổi sáng, trước khi mặt trời mọc trên những cánh đồng lúa.",
    "Russian": "Смотритель маяка каждую ночь дважды поднимается по лестнице и заводит часы.",
    "Greek": "Ο φύλακας του φάρου ανεβαίνει κάθε νύχτα δύο φορές τη σκάλα και κουρδίζει το ρολόι.",  # noqa: RUF001
    "Arabic": "يصعد حارس المنارة الدرج مرتين كل ليلة ليملأ المصباح بالزيت وينظف الزجاج.",
    "Hebrew": "שומר המגדלור עולה במדרגות פעמיים בכל לילה וממלא את המנורה בשמן.",
    "Chinese": "灯塔看守人每晚两次登上楼梯，给灯添油并擦拭玻璃，然后记录经过的船只。",  # noqa: RUF001
    "Japanese": "灯台守は毎晩二度階段を上り、ランプに油を注ぎ、ガラスを磨きます。",
    "Korean": "등대지기는 매일 밤 두 번 계단을 올라가 등불에 기름을 채우고 유리를 닦는다.",
    "Thai": "ผู้เฝ้าประภาคารขึ้นบันไดคืนละสองครั้งเพื่อเติมน้ำมันตะเกียงและเช็ดกระจกให้สะอาด",
    "Hindi": "प्रकाशस्तंभ का रखवाला हर रात दो बार सीढ़ियाँ चढ़कर दीपक में तेल भरता है।",
    "numbers": "1990 412.5 18.2 -3 0.004\n1991 398.1 17.9 +2 0.006\n1992 401.7 18.8 -1 0.005\n" * 4,
    "code": "for (int i = 0; i < n; ++i) {\n    sum += buffer[i] * weights[(i + 1) % n];\n}\nreturn sum / n;\n" * 2,
    "formulas": "∫ f(x) dx = F(b) − F(a), ∀ε > 0 ∃δ > 0 : |x − y| < δ ⇒ |f(x) − f(y)| < ε\n∑ k² = n(n+1)(2n+1)/6",  # noqa: RUF001
    "parts": "M8x40 DIN 933 A2 12 pcs\nM8 DIN 125 A2 24 pcs\nBRG 6204-2RS SKF 2 pcs\nO-RING 20x2.5 NBR70 6 pcs\n" * 2,
    "chess": "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7",
    "ligatures that are missing": "\x1cnding the o\x1ece di\x1ecult, he \x1clled the co\x1bee pot and waited for news",
    "page number": "\x0c17",
}


def shift_letters(text: str, distance: int) -> str:
    shifted = string.ascii_lowercase[distance:] + string.ascii_lowercase[:distance]
    return text.lower().translate(str.maketrans(string.ascii_lowercase, shifted))


@pytest.mark.parametrize("kind", GOOD_LAYERS)
def test_a_layer_of_any_language_and_kind_is_legible(kind: str) -> None:
    """I3: a page with a usable text layer is not read by its looks."""
    assert is_legible(GOOD_LAYERS[kind])


@pytest.mark.parametrize(
    "layer",
    [
        "".join(chr(1 + ord(letter) % 31) for letter in PROSE),
        "".join(chr(0xF000 + ord(letter)) for letter in PROSE),
        "\ufffd" * 40,
        "Multicolour print on all four plates".encode("utf-16-be").decode("utf-16-le"),
        # Glyph numbers of a TrueType font in the order of ASCII, by which "The" is "7KH".
        "".join(letter if letter.isspace() else chr(ord(letter) - 29) for letter in PROSE),
        "Смотритель маяка каждую ночь дважды поднимается по лестнице.".encode("cp1251").decode("latin-1"),
        # A font whose glyphs are in no order at all: few of its words are letters alone.
        'h?2 T?vbmMBib T\x1c+F\x1c;2 "`B\x1cM qX JmHHB;\x1cM 7Q` +\x1ci+ h?2 \x1cmi?Q` rQmH/ HBF2 iQ i?\x1cMF' * 3,
    ],
)
def test_glyph_numbers_and_characters_without_meaning_are_not(layer: str) -> None:
    """I3"""
    assert not is_legible(layer)


@given(st.integers(1, 25))
def test_letters_shifted_by_any_number_are_not(distance: int) -> None:
    """I3"""
    assert not is_legible(shift_letters(PROSE, distance))


@given(st.text(max_size=9) | st.text(alphabet=" \n\x01", max_size=200))
def test_of_a_few_characters_nothing_is_said(layer: str) -> None:
    assert is_legible(layer) or len("".join(layer.split())) >= 10


@given(st.text(), st.text())
def test_what_stands_far_behind_changes_no_judgement(layer: str, behind: str) -> None:
    """A page of many megabytes is judged as fast as any."""
    beginning = (PROSE + layer).ljust(1200, "x")

    assert is_legible(beginning) == is_legible(beginning + behind)
    assert is_noise(beginning) == is_noise(beginning + behind)


@pytest.mark.parametrize("kind", sorted(GOOD_LAYERS.keys() - {"numbers", "formulas", "chess", "code", "parts"}))
def test_writing_is_no_noise(kind: str) -> None:
    assert not is_noise(GOOD_LAYERS[kind])


@pytest.mark.parametrize(
    "layer", ["l , ; .~ ' 1I |- . i ;' , ! .. : l ' ~ -. ,' \\ / . ;", "a i l 1 r t 0 o e l i t f , r 7 i"]
)
def test_specks_that_were_taken_for_letters_are_noise(layer: str) -> None:
    """I3"""
    assert is_noise(layer)
