"""The running text of office documents, built step by step."""

from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.readers.office.flow import Flow, extract
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.sections import Section

STEPS = st.sampled_from(
    ["paragraph", "heading 1", "heading 2", "item", "page", "picture", "table", "pictures in table"]
)


def flow_of(steps: list[str], *, with_pictures: bool) -> Flow:
    flow = Flow()

    def add_picture(number: int) -> None:
        if with_pictures:
            flow.add_picture(f"{number}")

    for number, step in enumerate(steps):
        if step == "page":
            flow.break_page()
        elif "table" in step:
            flow.begin_table()
            for row in range(2):
                flow.begin_row()
                for cell in range(2):
                    flow.begin_cell()
                    flow.begin_paragraph()
                    flow.add_text(f"cell {number}" if row or step == "table" else "")
                    if step != "table":
                        add_picture(10 * number + 2 * row + cell)
                    flow.end()
                flow.end_row()
            flow.end()
        else:
            level = int(step[-1]) if step.startswith("heading") else None
            flow.begin_paragraph(level, is_item=step == "item")
            flow.add_text("" if step == "picture" else f"{step}, {number}")
            if step == "picture":
                add_picture(10 * number)
            flow.end()
    return flow


@given(st.lists(STEPS, max_size=12), st.booleans())
def test_pictures_change_nothing_in_the_text_around_them(steps: list[str], is_paged: bool) -> None:  # noqa: FBT001 - drawn
    """I2, I6. And none is lost, nor are two of them swapped."""

    def read(*, with_pictures: bool) -> list[Section | Picture]:
        flow = flow_of(steps, with_pictures=with_pictures)
        return list(extract(flow, [], make_properties({}), is_paged=is_paged).parts[0])

    with_pictures = read(with_pictures=True)

    assert [item for item in with_pictures if isinstance(item, Section)] == read(with_pictures=False)
    named = [int(item.name) for item in with_pictures if isinstance(item, Picture)]
    assert named == sorted(named)
    assert len(named) == steps.count("picture") + 4 * steps.count("pictures in table")
    pages = [item.page_num for item in with_pictures if item.page_num is not None]
    assert pages == sorted(pages)
