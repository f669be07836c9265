"""From words to the query language of FTS5. Every word is quoted, so nothing a person types is an operator."""

from collections.abc import Sequence

from kb.engine.model import Scope
from kb.engine.words import WORD, pair_up, space_out, split_runs

# FTS5 ranks a row by each phrase in turn; beyond this a longer query only costs time.
MAX_PHRASES = 64


def build_match_expression(words: Sequence[str], scope: Scope) -> str | None:
    """Chunks with any of the words, all required phrases and no excluded one; None if nothing can match."""
    required = [build_phrase(phrase) for phrase in scope.required if has_word(phrase)]
    alternatives = [phrase for word in words for phrase in _phrases_of(word)]
    alternatives = [*required, *alternatives][:MAX_PHRASES]
    if not alternatives:
        return None
    expression = f"({' OR '.join(alternatives)})"
    if required:
        expression = f"({' AND '.join([*required, expression])})"
    excluded = [build_phrase(phrase) for phrase in scope.excluded if has_word(phrase)]
    if excluded:
        expression = f"{expression} NOT ({' OR '.join(excluded)})"
    return expression


def build_phrase(text: str) -> str:
    return '"' + space_out(text).replace('"', '""') + '"'


def _phrases_of(word: str) -> list[str]:
    """A word of a spaced script is one phrase; a run of an unspaced one is a phrase for each pair."""
    phrases: list[str] = []
    for run, is_unspaced in split_runs(word):
        if is_unspaced:
            phrases.extend(build_phrase(pair) for pair in pair_up(run))
        elif has_word(run):
            phrases.append(build_phrase(run))
    return phrases


def has_word(text: str) -> bool:
    """Whether there is anything in it to be looked for; what has nothing limits nothing."""
    return WORD.search(text) is not None
