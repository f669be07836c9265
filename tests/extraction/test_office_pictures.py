"""Pictures in DOCX, PPTX and ODT files: where they stand, and which are left out."""

import re
import time
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from tests.reading import SAMPLES, list_parts

from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.readers.office import docx, odt, pptx
from kb.engine.ingestion.extraction.readers.office.media import MAX_NAME_CHARACTERS
from kb.engine.ingestion.extraction.readers.shared.picture_sizes import MAX_PICTURES
from kb.engine.ingestion.sections import Section

BODY = "word/document.xml"
SLIDE = "ppt/slides/slide2.xml"
IMAGE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
EMF = b"\x01\0\0\0" + bytes(36) + b" EMF" + bytes(100)
WEBP_TOO_LARGE = b"RIFF\x40\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(4) + b"\xff\xff\xff\xff\xff\0" + bytes(40)
CM = 360_000

Edit = Callable[[str], str]


def png(width: int, height: int) -> bytes:
    file = BytesIO()
    Image.new("L", (width, height), 255).save(file, "PNG")
    return file.getvalue()


def edited(sample: str, folder: Path, edits: Mapping[str, Edit], parts: Mapping[str, bytes] = {}) -> Path:
    """A copy of the sample with the text of some parts edited, and others added or replaced."""
    path = folder / Path(sample).name
    with zipfile.ZipFile(SAMPLES / sample) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name in edits:
                after = edits[name](content.decode()).encode()
                assert after != content
                content = after
            if name not in parts:
                target.writestr(name, content)
        for name, content in parts.items():
            target.writestr(name, content)
    return path


def replaced(before: str, after: str) -> Edit:
    return lambda text: text.replace(before, after)


def drawing(reference: str = 'r:embed="rId2"', *, width: int = 4 * CM, height: int = CM, fill: str = "") -> str:
    return (
        '<w:drawing xmlns:a="a"><pic><blipFill>'
        f"<a:blip {reference}/>{fill}</blipFill><spPr><a:xfrm>"
        f'<a:ext cx="{width}" cy="{height}"/></a:xfrm></spPr></pic></w:drawing>'
    )


def filled_shape(*, width: int = 4 * CM) -> str:
    return (
        f'<wps:wsp xmlns:a="a"><wps:spPr><a:xfrm><a:ext cx="{width}" cy="{CM}"/></a:xfrm><a:blipFill>'
        '<a:blip r:embed="rId2"/></a:blipFill></wps:spPr></wps:wsp>'
    )


def in_two_forms(newer: str, older: str) -> str:
    forms = f"<mc:Choice>{newer}</mc:Choice><mc:Fallback>{older}</mc:Fallback>"
    return f"<mc:AlternateContent>{forms}</mc:AlternateContent>"


def read_body(folder: Path, body: str, parts: Mapping[str, bytes] = {}) -> list[Section | Picture]:
    """`pier.docx` with something else in its body. There rId2 is a picture of writing."""
    edit = {BODY: lambda text: re.sub("<w:body>.*(?=</w:body>)", f"<w:body>{body}", text, flags=re.DOTALL)}
    (part,) = list_parts(docx.read(edited("docx/pier.docx", folder, edit, parts)))
    return part


def pictures_of_body(folder: Path, body: str, parts: Mapping[str, bytes] = {}) -> list[Picture]:
    return [item for item in read_body(folder, body, parts) if isinstance(item, Picture)]


def pictures_in(document: Extracted) -> list[Picture]:
    return [item for part in list_parts(document) for item in part if isinstance(item, Picture)]


def in_run(content: str) -> str:
    return f"<w:p><w:r><w:t>Words</w:t>{content}</w:r></w:p>"


def test_pictures_follow_the_section_that_they_stand_in() -> None:
    """I2, I3. Icons, pictures of the header, and those that were shown before are left out."""
    (part,) = list_parts(docx.read(SAMPLES / "docx" / "pier.docx"))

    assert part == [
        Section("Notices\n\nWhat hangs on the board.\n\nThe board is by the door.", "Notices", 1),
        Picture("word/media/image1.png", 1, "Notices"),
        Section("Permits", "Permits", 1),
        Section("Shown on the next page.\n\nWall", "Permits", 2),
        Picture("word/media/image3.jpeg", 2, "Permits"),
    ]


@pytest.mark.parametrize("description", ["", "A letter on grey paper"])
def test_the_pictures_of_a_document_without_words_are_its_pages(tmp_path: Path, description: str) -> None:
    """I3. Word itself describes what is pasted into it."""
    edit = replaced('name="Image1" descr=""', f'name="Scan" descr="{description}"')

    (part,) = list_parts(docx.read(edited("docx/letter.docx", tmp_path, {BODY: edit})))

    assert [item for item in part if isinstance(item, Picture)] == [
        Picture("word/media/image1.png", 1, None, is_page=True),
        Picture("word/media/image2.png", 2, None, is_page=True),
    ]
    assert [item.text for item in part if isinstance(item, Section)] == [f"Picture: {description}"] * bool(description)


def test_the_pictures_of_an_opendocument_text_are_found() -> None:
    """I2, I3. The break between its pages was made by the author, and noted again by the program."""
    (part,) = list_parts(odt.read(SAMPLES / "odt" / "letter.odt"))

    assert part == [
        Section("Picture: A letter on grey paper", page_num=1),
        Picture("Pictures/10000000000002080000018640B0A6648DDDA416.png", 1, is_page=True),
        Picture("Pictures/100000000000020800000186EF8AEEB4E90C23BE.png", 2, is_page=True),
    ]


def test_what_an_object_of_an_opendocument_text_looks_like_is_no_picture(tmp_path: Path) -> None:
    """I3. Its words are read from itself."""
    edit = {"content.xml": replaced("Pictures/10000000000002080000018640B0A6648DDDA416.png", "./ObjectReplacements/1")}
    path = edited("odt/letter.odt", tmp_path, edit, {"ObjectReplacements/1": png(400, 300)})

    assert [picture.page_num for picture in pictures_in(odt.read(path))] == [2]


def test_a_page_that_holds_but_a_picture_is_counted(tmp_path: Path) -> None:
    """I2. The program notes the end of the page after it, which is not the one that the author made before it."""
    body = (
        '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
        f"<w:p><w:r>{drawing()}</w:r></w:p>"
        "<w:p><w:r><w:lastRenderedPageBreak/><w:t>Words</w:t></w:r></w:p>"
    )

    assert [item.page_num for item in read_body(tmp_path, body)] == [2, 3]


def test_a_picture_cuts_no_page_in_two(tmp_path: Path) -> None:
    """I2. It stands on the first of the two pages that its paragraph lies on."""
    paragraph = f'<w:p><w:r><w:t>First</w:t>{drawing()}<w:br w:type="page"/><w:t>Second</w:t></w:r></w:p>'

    assert read_body(tmp_path, paragraph + in_run("")) == [
        Section("First", page_num=1),
        Section("Second\n\nWords", page_num=2),
        Picture("word/media/image1.png", 1),
    ]


@pytest.mark.parametrize(
    "body",
    [
        in_run(drawing()),
        in_run('<w:pict><v:shape style="width:90pt"><v:imagedata r:id="rId2"/></v:shape></w:pict>'),
        in_run(drawing() + drawing('r:embed="rId5"')),
        in_run(in_two_forms(drawing(), drawing('r:embed="rId4"'))),
        in_run(drawing(width=8 * CM // 10, height=15 * CM // 10)),
        in_run(f"<wpg:wgp>{drawing(width=400, height=100)}</wpg:wgp>"),
        in_run(drawing(width=0)),
        in_run(filled_shape()),
    ],
    ids=["drawing", "vml", "twice by two ids", "two forms", "upright", "in a group", "size untold", "filling a shape"],
)
def test_a_picture_is_named_once_however_it_is_written(tmp_path: Path, body: str) -> None:
    """I3"""
    assert pictures_of_body(tmp_path, body) == [Picture("word/media/image1.png")]


@pytest.mark.parametrize(
    "body",
    [
        in_run(drawing('r:link="rId2"')),
        in_run(drawing('r:embed="rId99"')),
        in_run(drawing('r:embed="rId1"')),
        in_run(drawing('r:embed="rId3"')),
        in_run(drawing(fill="<a:tile/>")),
        in_run(drawing().replace("blipFill", "a:buBlip")),
        in_run(drawing(width=14 * CM // 10, height=CM)),
        in_run(drawing(width=9 * CM, height=CM // 2)),
        in_run(filled_shape(width=CM)),
        f"<w:p><w:del><w:r>{drawing()}</w:r></w:del></w:p>",
        f"<w:p><w:r><w:rPr><w:vanish/></w:rPr>{drawing()}</w:r></w:p>",
    ],
    ids=[
        "linked",
        "missing",
        "no picture",
        "icon",
        "pattern",
        "bullet",
        "narrow",
        "flat",
        "in a small shape",
        "deleted",
        "hidden",
    ],
)
def test_what_shows_no_words_is_left_out(tmp_path: Path, body: str) -> None:
    """I3"""
    assert pictures_of_body(tmp_path, body) == []


@pytest.mark.parametrize(
    ("content", "is_named"),
    [
        (EMF, False),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", False),
        (b"", False),
        (png(79, 60), False),
        (png(400, 29), False),
        (png(80, 30), True),
        (png(30, 80), True),
        (png(400, 300)[:20], False),
        # They are whole as far as one sees without decoding them, and who loads them will tell.
        (png(400, 300)[:-20], True),
        (WEBP_TOO_LARGE, True),
    ],
)
def test_pictures_are_known_by_their_content(tmp_path: Path, content: bytes, *, is_named: bool) -> None:
    """I3, I5"""
    found = pictures_of_body(tmp_path, in_run(drawing()), {"word/media/image1.png": content})

    assert len(found) == is_named


def test_a_picture_that_the_file_has_lost_is_left_out(tmp_path: Path) -> None:
    """I5"""
    edit = {"word/_rels/document.xml.rels": replaced("media/image1.png", "media/image9.png")}

    found = pictures_in(docx.read(edited("docx/pier.docx", tmp_path, edit)))

    assert [picture.name for picture in found] == ["word/media/image3.jpeg"]


@pytest.mark.parametrize("name", ["a\nb.png", "a\x07.png", f"{'a' * MAX_NAME_CHARACTERS}.png"])
def test_a_picture_with_an_impossible_name_is_left_out(tmp_path: Path, name: str) -> None:
    """I5. Names are handed from process to process."""
    target = name.replace("\n", "%0A").replace("\x07", "%07")
    edit = {"word/_rels/document.xml.rels": replaced("media/image1.png", f"media/{target}")}
    path = edited("docx/pier.docx", tmp_path, edit, {f"word/media/{name}": png(400, 300)})

    assert [picture.name for picture in pictures_in(docx.read(path))] == ["word/media/image3.jpeg"]


@pytest.mark.parametrize(
    "body",
    [
        "<pic><blipFill>{}</blipFill></pic>".format('<a:blip xmlns:a="a" r:embed="rId2"/>' * 30_000),
        "<pic>{}</pic>".format('<blipFill><a:blip xmlns:a="a" r:embed="rId2"/></blipFill>' * 30_000),
    ],
    ids=["in one fill", "in one drawing"],
)
def test_a_crowd_of_pictures_takes_no_longer_than_each_alone(tmp_path: Path, body: str) -> None:
    """I5"""
    began = time.process_time()

    assert len(pictures_of_body(tmp_path, in_run(body))) == 1

    assert time.process_time() - began < 5


def test_a_document_has_only_so_many_pictures_read(tmp_path: Path) -> None:
    """I5"""
    numbers = range(MAX_PICTURES + 5)
    listed = "".join(f'<Relationship Id="p{n}" Type="{IMAGE}" Target="media/p{n}.png"/>' for n in numbers)
    body = "".join(in_run(drawing(f'r:embed="p{n}"')) for n in numbers)
    edits = {
        BODY: lambda text: re.sub("<w:body>.*(?=</w:body>)", f"<w:body>{body}", text),
        "word/_rels/document.xml.rels": replaced("</Relationships>", f"{listed}</Relationships>"),
    }
    path = edited("docx/pier.docx", tmp_path, edits, {f"word/media/p{n}.png": png(400, 300) for n in numbers})

    found = pictures_in(docx.read(path))

    assert [picture.name for picture in found] == [f"word/media/p{n}.png" for n in range(MAX_PICTURES)]


def test_the_pictures_of_a_slide_follow_its_text() -> None:
    """I2, I3. One that fills a slide without words is the slide; one that stands on two slides belongs to the first."""
    slides = list_parts(pptx.read(SAMPLES / "pptx" / "pier.pptx"))

    assert [[item for item in slide if isinstance(item, Picture)] for slide in slides] == [
        [Picture("ppt/media/image1.png", 1, "The pier"), Picture("ppt/media/image2.png", 1, "The pier")],
        [Picture("ppt/media/image3.png", 2, None, is_page=True)],
        [Picture("ppt/media/image4.png", 3, None, is_page=True)],
        [],
    ]
    assert all(isinstance(slide[0], Section) for slide in slides)


def test_a_slide_that_is_read_again_has_the_same_pictures() -> None:
    document = pptx.read(SAMPLES / "pptx" / "pier.pptx")

    assert list_parts(document) == list_parts(document)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('cx="7680000"', 'cx="3840000"'),
        ("</p:spTree>", "<p:sp><p:txBody><a:p><a:r><a:t>Words</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"),
        (
            "</p:spTree>",
            '<p:sp><p:nvSpPr><p:ph type="title"/></p:nvSpPr><a:p><a:r><a:t>Words</a:t></a:r></a:p></p:sp></p:spTree>',
        ),
        ('cx="7680000"', ""),
    ],
    ids=["smaller", "beside words", "under a title", "size untold"],
)
def test_a_picture_that_is_not_all_of_its_slide_is_not_its_page(tmp_path: Path, before: str, after: str) -> None:
    """I3"""
    path = edited("pptx/pier.pptx", tmp_path, {SLIDE: replaced(before, after)})

    (picture,) = (item for item in pptx.read(path).parts[1] if isinstance(item, Picture))

    assert (picture.name, picture.is_page) == ("ppt/media/image3.png", False)


def test_a_picture_that_stands_twice_on_a_slide_is_its_page_if_it_is_once(tmp_path: Path) -> None:
    """I3"""

    def edit(slide: str) -> str:
        return re.sub("(<p:pic>.*</p:pic>)", lambda found: found[1] + found[1].replace("7680000", "900000"), slide)

    path = edited("pptx/pier.pptx", tmp_path, {SLIDE: edit})

    assert [item for item in pptx.read(path).parts[1] if isinstance(item, Picture)] == [
        Picture("ppt/media/image3.png", 2, is_page=True)
    ]


def test_a_picture_behind_a_slide_without_words_is_its_page(tmp_path: Path) -> None:
    """I3"""
    background = '<p:bg><p:bgPr><a:blipFill><a:blip r:embed="rId2"/></a:blipFill></p:bgPr></p:bg>'

    def edit(slide: str) -> str:
        return re.sub("<p:pic>.*</p:pic>", "", slide).replace("<p:spTree>", f"{background}<p:spTree>")

    path = edited("pptx/pier.pptx", tmp_path, {SLIDE: edit})

    assert list(pptx.read(path).parts[1]) == [Picture("ppt/media/image3.png", 2, is_page=True)]
