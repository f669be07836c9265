"""Mails of several programs, read as the engine reads them."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reading import ReadDocument, read_file, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.mail.eml import read
from kb.engine.ingestion.extraction.readers.mail.headers import decode_words

HEAD = b"From: a@light.example\nMessage-ID: <1@light.example>\nMIME-Version: 1.0\n"


def mail(folder: Path, content: bytes) -> ReadDocument:
    path = folder / "mail.eml"
    path.write_bytes(HEAD + content)
    return read_file(path)


def test_a_mail_is_its_head_its_plain_text_and_what_is_attached() -> None:
    """I1, I2, I7."""
    document = read_sample("eml/python.eml")

    subject = "Einladung: Frühstück im Leuchtturm \u2013 bitte antworten, denn der Platz in der Lampenstube ist knapp"
    assert document.format == "eml"
    assert document.title == subject
    assert document.sections[0].heading is None
    assert document.sections[0].text == (
        'From: "Nora Feld" <nora@light.example>\n'
        "To: Lise Aumann <lise@bread.example>, Jörg Weiß <joerg@muehle.example>\n"
        "Cc: harbour@light.example\n"
        "Date: Wed, 01 May 2024 10:00:00 +0200\n"
        f"Subject: {subject}\n"
        "Attachments: Einkauf.txt, Gästeliste.xlsx\n\n"
        "Liebe Freunde,\n\nkommt am Sonntag zum Frühstück. Es gibt Räucherfisch für alle.\n\nNora"
    )
    assert document.metadata == {
        "from": '"Nora Feld" <nora@light.example>',
        "to": "Lise Aumann <lise@bread.example>, Jörg Weiß <joerg@muehle.example>",
        "cc": "harbour@light.example",
        "date": "Wed, 01 May 2024 10:00:00 +0200",
        "subject": subject,
        "author": "Nora Feld",
        "created": "2024-05-01T10:00:00+02:00",
        "attachments": ["Einkauf.txt", "Gästeliste.xlsx"],
    }


def test_a_forwarded_mail_stands_under_its_subject_and_attached_text_under_its_name() -> None:
    """I2."""
    forwarded, shopping = read_sample("eml/python.eml").sections[1:]

    assert forwarded.heading == "Heights at Holm"
    assert forwarded.text.startswith("From: Iven Brandt <iven@tide.example>\nTo: nora@light.example\n")
    assert forwarded.text.endswith("Attachments: gauge.bin\n\nThe water stood at 4.1 metres on Tuesday.")
    assert (shopping.heading, shopping.text) == ("Einkauf.txt", "Butter\nBrot\nFisch")


def test_html_is_read_where_the_plain_text_only_points_to_it() -> None:
    """I6."""
    document = read_sample("eml/newsletter.eml")

    assert [section.heading for section in document.sections] == [None, "Neuer Fahrplan"]
    assert document.sections[1].text == (
        "Neuer Fahrplan\n\nAb März fährt die Fähre stündlich. Die erste legt um sechs ab, die letzte um zehn Uhr "
        "abends.\n\nHafen | Abfahrt\nHolm | 06:00\nSüder | 06:40"
    )
    assert document.metadata["author"] == "Fährbüro"
    assert document.metadata["created"] == "2024-03-01T07:00:00Z"


def test_a_mail_of_mutt_is_read() -> None:
    """I1."""
    document = read_sample("eml/mutt.eml")

    assert document.title == "Wicks and oil \u2013 Öl für die Lampe"
    assert document.metadata["attachments"] == ["stock.csv", "Lageplan der Mühle.pdf"]
    assert "Please have the crane ready." in document.sections[0].text
    assert (document.sections[1].heading, document.sections[1].text) == ("stock.csv", "Grain;Sacks\nRye;12\nSpelt;7")


def test_a_mail_of_swaks_is_read() -> None:
    """I1."""
    document = read_sample("eml/swaks.eml")

    assert [section.heading for section in document.sections] == [None, "Tide table", "tides.csv"]
    assert document.sections[1].text == "Tide table\n\nHigh water at 04:10."


@pytest.mark.parametrize("name", ["git", "git-attach"])
def test_a_patch_of_git_is_read(name: str) -> None:
    """I1."""
    document = read_sample(f"eml/{name}.eml")

    assert document.title == "[PATCH] Schließzeit für die Mühle"
    assert document.metadata["author"] == "Jörg Weiß"
    assert "Since the café closes at five, so does the mill." in document.text
    assert "+name = Mühle" in document.text


@pytest.mark.parametrize(
    ("charset", "sent"),
    [
        ("utf-8", "Größe".encode()),
        ("iso-8859-1", "Größe: 3 €".encode("cp1252")),
        ("no-such-charset", "Größe".encode()),
        ("us-ascii", "Größe".encode()),
        ("iso-2022-jp", "灯台".encode("iso2022_jp")),
        ("gb2312", "朱镕基".encode("gb18030")),
    ],
)
def test_the_stated_charset_is_used_unless_it_is_false(tmp_path: Path, charset: str, sent: bytes) -> None:
    document = mail(tmp_path, f"Content-Type: text/plain; charset={charset}\n\n".encode() + sent)

    expected = {"iso-8859-1": "Größe: 3 €", "iso-2022-jp": "灯台", "gb2312": "朱镕基"}.get(charset, "Größe")
    assert document.text.endswith(f"\n\n{expected}")


def test_raw_bytes_in_a_header_are_decoded(tmp_path: Path) -> None:
    document = mail(tmp_path, "Subject: Öl für die Mühle\n\nText".encode())

    assert document.title == "Öl für die Mühle"


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("=?utf-8?B?w5Zs?= und =?iso-8859-1?Q?M=FChle?=", "Öl und Mühle"),
        ("=?utf-8?Q?Gr=C3=B6?=\r\n =?utf-8?Q?=C3=9Fe?=", "Größe"),
        ("=?utf-8?B?ww==?= =?utf-8?B?lmw=?=", "Öl"),
        ("=?utf-8?Q?M=C3?= =?utf-8?Q?=BChle?=", "Mühle"),
        ("=?utf-8*de?Q?two_words?=", "two words"),
        ("=?klingon?Q?word?=", "word"),
        ("=?utf-8?B?%%%?=", ""),
        ("2 =? 3", "2 =? 3"),
    ],
)
def test_encoded_words_are_decoded(sent: str, meant: str) -> None:
    assert decode_words(sent) == meant


@settings(deadline=None)
@given(st.text(alphabet="=?utf-8bq_ \nABC\udce4ö", max_size=80))
def test_no_header_is_too_broken_to_be_read(sent: str) -> None:
    decode_words(sent).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"Content-Type: multipart/encrypted; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\n1\n--b--",
        b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nMIIB",
        b"Content-Type: text/plain\n\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n",
    ],
    ids=["PGP/MIME", "S/MIME", "PGP"],
)
def test_an_encrypted_mail_says_so(tmp_path: Path, content: bytes) -> None:
    """I5."""
    with pytest.raises(Unreadable) as refused:
        mail(tmp_path, content)

    assert refused.value.code == "encrypted_file"


def test_a_mail_whose_text_is_sealed_in_a_signature_says_what_to_do(tmp_path: Path) -> None:
    """I5."""
    with pytest.raises(Unreadable) as refused:
        mail(tmp_path, b"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n\nMIIB")

    assert refused.value.code == "encrypted_file"
    assert "signature" in str(refused.value)
    assert "add that" in str(refused.value)


def test_an_encrypted_attachment_is_told_by_its_name(tmp_path: Path) -> None:
    """I6."""
    document = mail(
        tmp_path,
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee the contract.\n--b\n"
        b"Content-Type: application/pkcs7-mime; name=contract.p7m\nContent-Disposition: attachment\n\nMIIB\n--b--",
    )

    assert document.metadata["attachments"] == ["contract.p7m"]
    assert "Attachments: contract.p7m\n\nSee the contract." in document.text


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (b"filename*=utf-8''a%00b%1B%0Ac.pdf", "ab c.pdf"),
        (b'filename="=?utf-8?Q?a=00b.pdf?="', "ab.pdf"),
        (b"filename*=utf-8''%00", "unnamed (application/pdf)"),
        (b"filename*=utf-7''%2B2AA-.pdf", ".pdf"),
        (b"filename*=idna''a.pdf", "a.pdf"),
        (b"filename=caf\xc3\xa9.pdf", "caf\xe9.pdf"),
        (b"filename*0*=utf-8''caf%C3; filename*1*=%A9.pdf", "caf\xe9.pdf"),
    ],
)
def test_the_name_of_what_is_attached_is_text(tmp_path: Path, told: bytes, name: str) -> None:
    document = mail(tmp_path, b"Content-Type: application/pdf\nContent-Disposition: attachment; " + told + b"\n\nx")

    assert document.metadata["attachments"] == [name]


def test_a_report_of_a_failed_delivery_is_read(tmp_path: Path) -> None:
    document = mail(
        tmp_path,
        b"Content-Type: multipart/report; boundary=b\n\n--b\n\nYour mail came back.\n"
        b"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; light.example\n\nStatus: 5.1.1\n--b--",
    )

    assert "Your mail came back." in document.text
    assert "Reporting-MTA: dns; light.example\n\nStatus: 5.1.1" in document.text


def test_parts_that_are_cut_off_or_missing_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    document = mail(
        tmp_path, b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nFirst words.\n--b\nContent-Type: te"
    )

    assert "First words." in document.text
    assert "lost boundary" in mail(tmp_path, b"Content-Type: multipart/mixed\n\nlost boundary").text


def test_mails_in_mails_are_read_up_to_an_honest_depth(tmp_path: Path) -> None:
    """I5."""
    forward = b"Content-Type: message/rfc822\n\n"

    assert "the last" in mail(tmp_path, forward * 20 + b"\nthe last").text
    for depth in (100, 10_000):
        with pytest.raises(Unreadable) as refused:
            mail(tmp_path, forward * depth + b"\nthe last")
        assert refused.value.code == "extraction_limit"


def test_huge_headers_take_no_time(tmp_path: Path) -> None:
    to = b", ".join(b"=?utf-8?Q?K=C3=A4the?= <k%d@light.example>" % number for number in range(20_000))
    hostile = b"(" * 500_000 + b"=?a?q?" * 500_000

    document = mail(tmp_path, b"To: " + to + b"\nSubject: " + hostile + b"\nDate: " + hostile + b"\n\nText")

    assert document.metadata["to"].startswith("Käthe <k0@light.example>, Käthe <k1@light.example>")
    assert document.text.endswith("\n\nText")


@pytest.mark.parametrize(
    "told",
    [
        b'text/plain; name="' + b";" * 100_000,
        b"text/plain; " + b'a="";' * 20_000,
        b"text/plain" + b'; name*0="a"' * 9_000,
        b"text/plain; " + b"".join(b"name*%d=a;" % number for number in range(9_000)),
        b"text/plain; charset*=" + b"'" * 100_000,
        b"multipart/mixed; boundary=" + b'"' * 100_000,
        b"multipart/mixed; boundary=" + b"\\" * 100_000,
        b"a/" * 50_000,
    ],
)
@pytest.mark.parametrize("header", [b"Content-Type", b"Content-Disposition", b"Content-Transfer-Encoding"])
def test_huge_parameters_take_no_time(tmp_path: Path, header: bytes, told: bytes) -> None:
    path = tmp_path / "mail.eml"
    path.write_bytes(HEAD + header + b": " + told + b"\n\nText")

    started = time.process_time()
    read(path)

    assert time.process_time() - started < 2
