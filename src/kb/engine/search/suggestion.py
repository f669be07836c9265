"""What was probably meant, where a word of the query is nowhere in the base."""

import re
from collections.abc import Sequence

from kb.engine.ports import Store
from kb.engine.search.query import ParsedQuery

# A question of many words is no place to look for one misspelt word.
MAX_WORDS_TO_SPELL = 8


def suggest(store: Store, typed: str, query: ParsedQuery, found: Sequence[str]) -> str | None:
    """The query as typed, with each word that the base does not know replaced by one it does; None if it knows all, or
    nothing better. `found` are the texts of the hits."""
    if len(query.words) > MAX_WORDS_TO_SPELL:
        return None
    # What stands in a hit is known. To look there is quicker than to look it up, and nearly always enough.
    texts = [text.lower() for text in found]
    unseen = [word for word in query.words if not any(_has_word(text, word.lower()) for text in texts)]
    # A word that is still being typed is rightly spelt as long as something begins like it.
    if query.beginning in unseen and any(_has_beginning(text, query.beginning.lower()) for text in texts):
        unseen.remove(query.beginning)
    better = typed
    for word, known in store.suggest_words(unseen).items() if unseen else ():
        better = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", known, better)
    return None if better == typed else better


def _has_word(text: str, word: str) -> bool:
    """Whether it stands there between characters that surely are no part of a word."""
    start = text.find(word)
    while start >= 0:
        around = text[max(start - 1, 0) : start] + text[start + len(word) : start + len(word) + 1]
        if around.isascii() and not any(map(str.isalnum, around)):
            return True
        start = text.find(word, start + 1)
    return False


def _has_beginning(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}", text) is not None
