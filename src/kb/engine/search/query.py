"""What was typed, and what it asks for. Any text is legal: what has no special meaning is plain text.

Two things are special: `"a phrase"` must be there, and `-word` or `-"a phrase"` must not.
"""

import re
import unicodedata
from dataclasses import dataclass

from kb.engine.words import find_words, fold, is_unspaced, pair_up, spellings_of, split_runs

MAX_TERMS = 64
"""Beyond this a text is a document, not a question: more terms cost time and no longer change the ranking."""

SHORTEST_TO_COMPLETE = 2

_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\uff02", '"'))

# Each alternative scans ahead only to a quote that it then consumes, so that parsing stays linear.
# A quote after a letter or digit (12" pipe) opens nothing; a hyphen excludes only in front of a word.
_SPECIAL = re.compile(
    r"""
      (?<!\S)-"(?P<excluded_phrase>[^"]*)"
    | (?<!\S)-(?P<excluded_word>[^\W\d_][^\s"]*)
    | (?<!\w)"(?P<phrase>[^"]*)"
    """,
    re.VERBOSE,
)

# What an apostrophe leaves behind: it's, don't, I'd, I'm, we'll, we're, we've. As words of their own
# (vitamin d) they count.
_CONTRACTION = re.compile(r"(?<=[^\W\d_])(?:n['\u2019]t|['\u2019](?:s|t|d|m|ll|re|ve))\b", re.IGNORECASE)

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing during each few for from further had has have having he her here hers him his how i if
    in into is it its itself just like may me might more most must my no nor not of off on once only or other
    our ours out over own per shall she should so some such tell than that the their theirs them then there
    these they this those through to too under until up upon us very was we were what when where whether
    which while who whom whose why will with within without would you your yours
    """.split()  # noqa: SIM905 - a list of quoted words would be twice as long and no clearer
)
"""English words that say nothing of what is sought. The index has them, so that a phrase can hold them."""

# English is known by so many stop words, if one of them is in no other language, and otherwise by so many: Dutch has
# `is` and `of`, German `was` and `am`. Of 3,490 English questions 88 in 100 were known, of 1,789 others 6 taken for it.
LEAST_SHARE_OF_STOP_WORDS = 0.2
LEAST_SHARE_OF_LOOKALIKES = 0.4
LOOKALIKES = frozenset(
    """
    a all also am an are as at be but by can do for he her his i in is it its just may me more most my no not of on
    once or over own per so than to under us was we will
    """.split()  # noqa: SIM905 - as above
)


@dataclass(frozen=True)
class ParsedQuery:
    words: tuple[str, ...]
    """For keyword search, in order and with repeats; a run of an unspaced script is one word."""
    spellings: tuple[str, ...]
    """Other ways to write some of the words; one with spaces is a phrase."""
    is_english: bool
    required: tuple[str, ...]
    excluded: tuple[str, ...]
    meaning: str
    """For semantic search: what was asked, without what was ruled out."""

    beginning: str = ""
    """The last of the words, if more of it may still be typed: words that begin with it will do, too."""

    @property
    def marked(self) -> tuple[str, ...]:
        """What is marked where it was found."""
        return (*self.words, *self.spellings)


def parse_query(text: str, *, complete_last_word: bool = False) -> ParsedQuery:
    """Never raises. `words` is empty only if the text has no letter or digit at all."""
    required: list[str] = []
    excluded: list[str] = []

    def sort_out(special: re.Match[str]) -> str:
        phrase = _phrase_of(special)
        if not any(find_words(phrase)):
            return f" {phrase} "
        if special["phrase"] is None:
            excluded.append(phrase)
            return " "
        required.append(phrase)
        return f" {phrase} "

    typed = text.translate(_QUOTES)
    positive = _SPECIAL.sub(sort_out, typed)
    if excluded and not any(find_words(_normalise(positive))):
        excluded.clear()
        positive = _SPECIAL.sub(_phrase_of, typed)
    normal = _normalise(positive)
    words = list(find_words(normal))
    telling = [word for word in words if fold(word) not in STOP_WORDS]
    taken = _first_terms(telling or words)
    return ParsedQuery(
        words=taken,
        spellings=tuple(filter(_tells_something, spellings_of(normal)))[:MAX_TERMS],
        is_english=_is_english(words),
        required=_unique(required),
        excluded=_unique(excluded),
        meaning=" ".join(positive.replace('"', " ").split()) or text.strip(),
        beginning=taken[-1] if complete_last_word and taken and _may_go_on(taken[-1], normal) else "",
    )


def _may_go_on(word: str, typed: str) -> bool:
    """Behind a blank or a quotation mark a word is complete, and so is one that says nothing; a single letter begins
    too many. A run of an unspaced script is found within longer ones anyway."""
    is_long = len(word) >= SHORTEST_TO_COMPLETE
    return typed.endswith(word) and is_long and fold(word) not in STOP_WORDS and not is_unspaced(word)


def _phrase_of(special: re.Match[str]) -> str:
    return " ".join("".join(filter(None, special.groups())).split())


def _normalise(text: str) -> str:
    return _CONTRACTION.sub("", unicodedata.normalize("NFKC", text))


def _tells_something(spelling: str) -> bool:
    """Not so `and or`, which is another spelling of and/or."""
    return not STOP_WORDS.issuperset(fold(spelling).split())


def _is_english(words: list[str]) -> bool:
    stop_words = [word for word in map(fold, words) if word in STOP_WORDS]
    if not LOOKALIKES.issuperset(stop_words):
        return len(stop_words) >= LEAST_SHARE_OF_STOP_WORDS * len(words)
    return len(set(stop_words)) > 1 and len(stop_words) >= LEAST_SHARE_OF_LOOKALIKES * len(words)


def _first_terms(words: list[str]) -> tuple[str, ...]:
    """As many words as make `MAX_TERMS` terms: an unspaced run is looked for by each of its pairs."""
    taken: list[str] = []
    room = MAX_TERMS
    for word in words:
        if room <= 0:
            break
        has_no_spaces = next(split_runs(word))[1]
        taken.append(word[: room + 1] if has_no_spaces else word)
        room -= len(pair_up(taken[-1])) if has_no_spaces else 1
    return tuple(taken)


def _unique(phrases: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrases))
