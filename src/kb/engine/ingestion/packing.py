"""Joining the sections of a document that has very many tiny ones.

A section becomes a chunk of its own, however short it is: found, it tells exactly under which heading it stands. But
a file may be thousands of bare headings, or of definitions of one line each, and there a vector for every line costs
far more than it finds. Their tiny sections are joined with the next ones as far as they make up a chunk; what is
long enough to be looked for stands alone in these documents too.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import PATH_SEPARATOR

# A heading and a short sentence.
TINY_CHARACTERS = 100
# Far more than an ordinary document has.
MANY_TINY_SECTIONS = 100
# A little less than English has. Where a token has fewer, what was joined is split again by its tokens.
CHARACTERS_PER_TOKEN = 3


def join_tiny_sections(sections: Sequence[Section], *, max_tokens: int) -> Iterable[Section]:
    """The same text in order; if very many sections are tiny, neighbours among those are made one.

    A joined section has about `max_tokens` at most, lies on one page, and stands under what the headings of its parts
    have in common. Rows of a table are never joined.
    """
    if sum(map(_is_tiny, sections)) <= MANY_TINY_SECTIONS:
        return sections
    return _join_neighbours(sections, max_tokens * CHARACTERS_PER_TOKEN)


def _is_tiny(section: Section) -> bool:
    return len(section.text) <= TINY_CHARACTERS and section.rows is None


def _join_neighbours(sections: Iterable[Section], max_characters: int) -> Iterator[Section]:
    for (_, is_tiny), run in groupby(sections, key=lambda section: (section.page_num, _is_tiny(section))):
        if is_tiny:
            yield from map(_join, _batches(run, max_characters))
        else:
            yield from run


def _batches(sections: Iterable[Section], max_characters: int) -> Iterator[list[Section]]:
    batch: list[Section] = []
    characters = 0
    for section in sections:
        if batch and characters + len(section.text) > max_characters:
            yield batch
            batch, characters = [], 0
        batch.append(section)
        characters += len(section.text)
    yield batch


def _join(sections: list[Section]) -> Section:
    # Blanks in front are kept: they are the indentation of code.
    texts = (section.text.strip("\n") for section in sections if section.text.strip())
    return Section("\n\n".join(texts), _common_path([section.heading for section in sections]), sections[0].page_num)


def _common_path(headings: list[str | None]) -> str | None:
    paths = [(heading or "").split(PATH_SEPARATOR) for heading in headings]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))
    return PATH_SEPARATOR.join(names[0] for names in shared) or None
