"""PPTX files of several programs, read as the engine reads them."""

import zipfile
from pathlib import Path

import pytest
from tests.reading import SAMPLES, read_file, read_sample

from kb.engine.errors import Unreadable

SLIDE = "ppt/slides/slide2.xml"
RELATIONSHIPS = "ppt/slides/_rels/slide2.xml.rels"
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def changed(sample: str, folder: Path, replaced: dict[str, tuple[str, str]], added: dict[str, str]) -> Path:
    """A copy of the sample with some pieces replaced and some parts added."""
    path = folder / Path(sample).name
    with zipfile.ZipFile(SAMPLES / sample) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name in replaced:
                before, after = replaced[name]
                assert before in content.decode()
                content = content.decode().replace(before, after).encode()
            target.writestr(name, content)
        for name, text in added.items():
            target.writestr(name, text)
    return path


def test_each_slide_is_a_part_in_the_order_of_the_show() -> None:
    """I1, I2: hidden slides, tables, charts, groups, pictures and speaker notes of python-pptx."""
    document = read_sample("pptx/lighthouse.pptx")

    assert [[(section.page_num, section.heading) for section in part] for part in document.parts] == [
        [(1, "The lighthouse")],
        [(2, "Figures")],
        [(3, "Lamp")],
        [(4, None)],
    ]
    assert [section.text for section in document.sections] == [
        "The lighthouse\n\nA plan for the lamp",
        "Figures\n\nYear | Ships | Wrecks\n1901 | 88\n\nFog by season\n | Spring | Autumn\nFog days | 12 | 31",
        "Lamp\n\nOld lens\nNew mirror\n\nGrouped remark\n\nPicture: A brass lamp on a stone table\n\n"
        "Notes: Say who paid for the lens.\nThank the keeper.",
        "A hidden slide without a title",
    ]


def test_a_title_that_the_program_made_up_gives_way_to_the_first_slides() -> None:
    """I7."""
    document = read_sample("pptx/lighthouse.pptx")

    assert document.title == "The lighthouse"
    assert document.metadata == {
        "author": "Lena Frost",
        "keywords": "lighthouse",
        "created": "2023-11-05T08:00:00Z",
        "modified": "2013-01-27T09:15:58Z",
        "slides": 4,
    }


def test_a_presentation_of_pandoc_is_read() -> None:
    document = read_sample("pptx/river.pptx")

    assert document.title == "River crossing"
    assert [(section.page_num, section.text) for section in document.sections] == [
        (1, "River crossing\n\nOle Brandt"),
        (2, "Where to build"),
        (
            3,
            "Three places\n\nThe old ford\nThe mill race\nUpstream of the weir\n\nNotes: The ford floods every spring.",
        ),
        (4, "Costs\n\nPlace | Cost\nFord | 120\nMill | 340"),
    ]


def test_slide_numbers_are_no_text() -> None:
    assert [section.text for section in read_sample("pptx/bees.pptx").sections] == [
        "Spring\n\nClean the floor\nFeed in March\n\nNotes: Wait for twelve degrees.",
        "Harvest\n\nHive | Kilograms\nA | 21\nB | 17",
    ]


def test_a_slide_without_a_title_has_no_heading() -> None:
    document = read_sample("pptx/quarry.pptx")

    assert [(section.page_num, section.heading) for section in document.sections] == [(1, None), (2, None)]
    assert document.sections[0].text == (
        "Blasting\n\nWarn the village at dawn\nSound the horn twice\n\nNotes: Show the film of last year."
    )


def test_diagrams_and_comments_are_read_from_their_parts(tmp_path: Path) -> None:
    frame = (
        f'<p:graphicFrame><a:graphic><a:graphicData uri="{DRAWING}/diagram"><d:relIds xmlns:d="{DRAWING}/diagram"'
        f' xmlns:r="{TYPES}" r:dm="rIdX" r:lo="rIdX"/></a:graphicData></a:graphic></p:graphicFrame></p:spTree>'
    )
    points = "".join(f"<d:pt><d:t><a:p><a:r><a:t>{word}</a:t></a:r></a:p></d:t></d:pt>" for word in ("Plan", "Do"))
    relationships = (
        f'<Relationship Id="rIdX" Type="{TYPES}/diagramData" Target="../diagrams/data1.xml"/>'
        f'<Relationship Id="rIdY" Type="{TYPES}/comments" Target="/ppt/comments/comment1.xml"/></Relationships>'
    )
    path = changed(
        "pptx/lighthouse.pptx",
        tmp_path,
        {SLIDE: ("</p:spTree>", frame), RELATIONSHIPS: ("</Relationships>", relationships)},
        {
            "ppt/diagrams/data1.xml": f'<d:dataModel xmlns:d="d" xmlns:a="a">{points}</d:dataModel>',
            "ppt/comments/comment1.xml": '<p:cmLst xmlns:p="p"><p:cm><p:text>Too dark</p:text></p:cm></p:cmLst>',
        },
    )

    (text,) = (section.text for section in read_file(path).sections if section.heading == "Lamp")

    assert "\n\nPlan\nDo\n\nComment: Too dark\n\nNotes: Say" in text


def test_what_stands_in_notes_is_found_by_their_own_references(tmp_path: Path) -> None:
    """I6. The same id means something else on the slide."""
    notes = "ppt/notesSlides/notesSlide1.xml"
    frame = (
        f'<p:graphicFrame><a:graphic><a:graphicData uri="{DRAWING}/diagram"><d:relIds xmlns:d="{DRAWING}/diagram"'
        f' xmlns:r="{TYPES}" r:dm="rId3"/></a:graphicData></a:graphic></p:graphicFrame></p:spTree>'
    )
    relationship = f'<Relationship Id="rId3" Type="{TYPES}/diagramData" Target="../diagrams/data1.xml"/>'
    path = changed(
        "pptx/lighthouse.pptx",
        tmp_path,
        {
            notes: ("</p:spTree>", frame),
            "ppt/notesSlides/_rels/notesSlide1.xml.rels": ("</Relationships>", f"{relationship}</Relationships>"),
        },
        {"ppt/diagrams/data1.xml": '<d:dataModel xmlns:d="d"><d:p><d:t>Plan</d:t></d:p></d:dataModel>'},
    )

    (text,) = (section.text for section in read_file(path).sections if section.heading == "Lamp")

    assert text.endswith("\n\nPlan")


def test_a_damaged_slide_spoils_no_other(tmp_path: Path) -> None:
    path = changed("pptx/lighthouse.pptx", tmp_path, {SLIDE: ("</p:sld>", "")}, {})

    document = read_file(path)

    assert [section.heading for section in document.sections] == ["The lighthouse", "Figures", None]
    assert document.unread == [3]


def test_an_encrypted_presentation_is_told() -> None:
    """I5."""
    with pytest.raises(Unreadable) as refusal:
        read_sample("pptx/encrypted.pptx")

    assert refusal.value.code == "encrypted_file"
