"""What a document says of itself, made fit to be shown."""

import re
from dataclasses import dataclass
from datetime import datetime

from kb.engine.ingestion.extraction.readers.shared.outline import tidy

MAX_VALUE_CHARACTERS = 500

# What programs write when nobody has said anything.
_PLACEHOLDER = re.compile(r"\(?(?:untitled|anonymous|unspecified|unknown|none|null)\)?[ \d-]*|[\W_]*", re.IGNORECASE)
# What they write when nobody gave a title, in a few languages: "Document1", "Microsoft Word - x.doc", file names.
_NOT_A_TITLE = re.compile(
    r"(?:untitled|unbenannt|sans titre|sin título|senza titolo|title|titel|titre)(?: document| presentation)?[ \d]*"
    r"|(?:document|dokument|documento|presentation|präsentation|présentation|presentación|slide|folie|book|page)[ \d]*"
    r"|(?:powerpoint|word|excel)[ -](?:presentation|präsentation|document|dokument|workbook)"
    r"|(?:présentation|presentación de|presentazione standard di) (?:microsoft )?powerpoint"
    r"|microsoft (?:office )?(?:word|powerpoint|excel) - .*"
    r"|[^/]*\.(?:docx?|dotx?|rtf|odt|ott|pptx?|ppsx?|odp|xlsx?|ods|pdf|e?ps|dvi|tex|indd|qxd|pmd|fm|html?|txt|md|dwg"
    r"|tiff?|jpe?g)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Properties:
    title: str | None
    metadata: dict[str, str]


def make_properties(told: dict[str, str]) -> Properties:
    """The values made fit to be shown, without the blank ones and those that mean nothing."""
    values = {name: " ".join(tidy(value).split())[:MAX_VALUE_CHARACTERS] for name, value in told.items()}
    title = values.pop("title", "")
    for name in values.keys() & {"created", "modified"}:
        values[name] = _render_time(values[name])
    is_title = not (_PLACEHOLDER.fullmatch(title) or _NOT_A_TITLE.fullmatch(title))
    return Properties(
        title=title if is_title else None,
        metadata={name: value for name, value in values.items() if not _PLACEHOLDER.fullmatch(value)},
    )


def _render_time(text: str) -> str:
    """In the form of RFC 3339; a time in no zone means little elsewhere, so its date alone; "" if it is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if time.tzinfo is None:
        return time.date().isoformat()
    return time.replace(microsecond=0).isoformat().replace("+00:00", "Z")
