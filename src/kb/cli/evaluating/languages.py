"""Which language or script a text is in, if it is another than most models are made for: English."""

import re
import unicodedata
from collections import Counter

_SAMPLE_CHARACTERS = 4_000
_LETTERS = re.compile(r"[^\W\d_]+")
_FEWEST_WORDS = 20
# The share of the words below in ordinary text is a third; names and tables have hardly any.
_LEAST_SHARE = 0.08

_SMALL_WORDS = {
    "English": "the of and to in is that for it with as was on be by this are at from",
    "German": "der die und das ist nicht den von zu mit sich auf für dem eine ein im auch wird",
    "French": "le la les des et du une est que dans pour qui sur pas au par ce avec sont",
    "Spanish": "el la los las y que en por con una para del se es como su al lo más",
    "Italian": "il di che la per una non sono con del della gli nel anche più alla dei è",
    "Portuguese": "o os que em um uma para com não por mais dos das ao como se é da do",
    "Dutch": "de het een van en is dat op te voor met zijn niet aan er ook bij naar wordt",
    "Polish": "się nie na jest że do to jak przez po od ale tym dla oraz są był czy już",
    "Turkish": "ve bir bu için ile da de olarak çok daha olan gibi kadar sonra ancak ne her var",
    "Swedish": "och att det som en är på för av med till den inte om ett har de kan var",
}
_LANGUAGES_OF = {
    word: [language for language, words in _SMALL_WORDS.items() if word in words.split()]
    for words in _SMALL_WORDS.values()
    for word in words.split()
}
# By the first word of a letter's name in Unicode.
_SCRIPTS = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "DEVANAGARI": "Devanagari script",
}


def name_foreign_language(text: str) -> str | None:
    """The language or script of most of the text; None if that is English, or cannot be told."""
    words = _LETTERS.findall(text[:_SAMPLE_CHARACTERS].casefold())
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for word in words for letter in word)
    if not scripts:
        return None
    script, _ = scripts.most_common(1)[0]
    if script == "CJK" and scripts["HIRAGANA"]:
        return "Japanese"
    if script != "LATIN":
        return _SCRIPTS.get(script, f"{script.capitalize()} script")
    languages = Counter(language for word in words for language in _LANGUAGES_OF.get(word, ()))
    if len(words) < _FEWEST_WORDS or not languages:
        return None
    language, count = languages.most_common(1)[0]
    return language if language != "English" and count > _LEAST_SHARE * len(words) else None
