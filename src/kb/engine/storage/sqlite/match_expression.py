"""From phrases to the query language of FTS5. Every word is quoted, so nothing a person types is an operator."""

from collections.abc import Sequence

from kb.engine.model import Scope
from kb.engine.storage.words.phrases import Phrase, find_excluded, find_required
from kb.engine.words import space_out


def build_match_expression(phrases: Sequence[Phrase], scope: Scope) -> str | None:
    """Chunks with any of the phrases, all required ones and no excluded one; None if nothing can match."""
    if not phrases:
        return None
    expression = f"({' OR '.join(map(expression_of, phrases))})"
    required = list(map(quote, find_required(scope)))
    if required:
        expression = f"({' AND '.join([expression, *required])})"
    excluded = list(map(quote, find_excluded(scope)))
    if excluded:
        expression = f"{expression} NOT ({' OR '.join(excluded)})"
    return expression


def expression_of(phrase: Phrase) -> str:
    return f"{quote(phrase.text)} *" if phrase.is_beginning else quote(phrase.text)


def quote(text: str) -> str:
    return '"' + space_out(text).replace('"', '""') + '"'
