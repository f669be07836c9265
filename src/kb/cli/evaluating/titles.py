"""Whether a title says what its document is about."""

import re

_WORD = re.compile(r"[^\W_]+")
_EXTENSION = re.compile(r"\.(?=.*[a-z])[a-z0-9]{2,5}$", re.IGNORECASE)
_DIGITS_AROUND = "0123456789"
# H2O, B2B, i18n: longer words with digits inside are serial numbers.
_LONGEST_NAME_WITH_DIGITS = 4
# Hashes and UUIDs, whose parts can look like anything.
_HASH = re.compile(r"\b(?=[a-f-]*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b")

# What scanners, cameras, phones and office programs call their files; small, as `casefold` leaves them.
_EMPTY_WORDS = frozenset(
    """
    a blank brscan capture copy dcim default doc docs document dsc dscf dscn download dummy export fax file final image
    images img imported index jpeg jpg letter md microsoft mvi new no note notes of out output page pages pdf photo pic
    picture png powerpoint presentation print printout pxl readme scan scanned scanner scans screen screenshot sheet
    shot slide spreadsheet temp test text tif tiff title tmp txt unknown unnamed untitled upload v version wa whatsapp
    word workbook
    bild blatt datei dokument entwurf foto kopie mappe namenlos neu neue neues ohne seite titel unbekannt unbenannt von
    archivo copia de documento escaneado escaneo imagen nuevo sin titulo título
    fichier nouveau numerisation numérisation sans titre
    immagine nuovo scansione senza titolo
    afbeelding bestand naamloos zonder
    """.split()  # noqa: SIM905 - a list of quoted words would be twice as long and no clearer
)


def says_nothing(title: str) -> bool:
    """Whether there is nothing in it but numbers, single letters and such words as `scan` and `untitled`."""
    words = _WORD.findall(_HASH.sub("", _EXTENSION.sub("", title.strip()).casefold()))
    return not any(map(_tells_something, words))


def _tells_something(word: str) -> bool:
    bare = word.strip(_DIGITS_AROUND)
    has_digits = any(letter.isdigit() for letter in bare)
    # A single letter may be a word where words are characters.
    is_name = len(bare) <= _LONGEST_NAME_WITH_DIGITS if has_digits else len(bare) > 1 or not bare.isascii()
    return bool(bare) and is_name and bare not in _EMPTY_WORDS
