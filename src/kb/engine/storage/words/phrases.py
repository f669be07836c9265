"""What is looked for: the words and phrases of a query, and the forms in which they may stand in a text."""

from collections.abc import Sequence
from typing import NamedTuple

from kb.engine.model import Scope
from kb.engine.words import WORD, SoughtForm, forms_of, pair_up, space_out, split_runs

# Chunks are ranked by each phrase in turn; beyond this a longer query only costs time. Other forms are not counted.
MAX_PHRASES = 64
# More words than this are not combined with one another: the most common hardly tell chunks apart.
MOST_COMBINED = 5


class Phrase(NamedTuple):
    text: str
    """Spaced out, as text is indexed."""
    is_beginning: bool = False
    """Whether any word will do that begins like this."""
    is_other_form: bool = False
    """Whether it is another form of the word before it."""
    is_spelling: bool = False
    """Whether it is another way to write what is sought as it was asked for, too."""
    is_required: bool = False


def find_phrases(
    words: Sequence[str],
    scope: Scope,
    *,
    any_endings: bool = False,
    completions: Sequence[Phrase] = (),
    spellings: Sequence[str] = (),
) -> list[Phrase]:
    """What chunks are ranked by: required phrases and words, in their order, and other spellings.

    `completions` are other forms of the last word.
    """
    required = [Phrase(space_out(phrase), is_required=True) for phrase in find_required(scope)]
    sought = [phrase for word in words for phrase in _phrases_of(word, any_endings=any_endings)]
    sought += [completion for completion in completions if completion not in sought]
    phrases = [*required, *sought, *(Phrase(space_out(spelling), is_spelling=True) for spelling in spellings)]
    beyond = [place for place, phrase in enumerate(phrases) if not phrase.is_other_form][MAX_PHRASES:]
    return phrases[: beyond[0]] if beyond else phrases


def find_required(scope: Scope) -> list[str]:
    return list(filter(has_word, scope.required))


def find_excluded(scope: Scope) -> list[str]:
    return list(filter(has_word, scope.excluded))


def build_beginning(text: str) -> Phrase:
    """Another form of a word: all that begin like this."""
    return Phrase(space_out(text), is_beginning=True, is_other_form=True)


def has_word(text: str) -> bool:
    """Whether there is anything in it to be looked for; what has nothing limits nothing."""
    return WORD.search(text) is not None


def _phrases_of(word: str, *, any_endings: bool) -> list[Phrase]:
    """A word of a spaced script is a phrase, or one for each of its forms; an unspaced run is one for each pair."""
    phrases: list[Phrase] = []
    for run, is_unspaced in split_runs(word):
        if is_unspaced:
            phrases.extend(Phrase(space_out(pair)) for pair in pair_up(run))
        elif has_word(run) and any_endings:
            phrases.extend(_phrase_of_form(form, is_other_form=place > 0) for place, form in enumerate(forms_of(run)))
        elif has_word(run):
            phrases.append(Phrase(space_out(run)))
    return phrases


def _phrase_of_form(form: SoughtForm, *, is_other_form: bool) -> Phrase:
    if form.has_any_ending:
        return build_beginning(form.text)
    return Phrase(space_out(form.text), is_other_form=is_other_form)
