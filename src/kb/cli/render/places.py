"""Where in a document a chunk stands."""

from kb.cli.render.terminal import Json

_PAGES = {"pptx": "slide", "xlsx": "sheet"}


def place_of(chunk: Json, format: str) -> list[str]:
    """A slide is no page; of a sheet the heading tells the name as well."""
    page = [f"{_PAGES.get(format, 'page')} {chunk['page_num']}"] if chunk["page_num"] is not None else []
    return page + ([chunk["heading"]] if chunk["heading"] else [])
