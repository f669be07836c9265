"""A bundle: documents on their way from one base to another, as one stream of bytes.

It is a tar file, uncompressed, with these members in this order:

    bundle.json               says that this is a bundle
    originals/<sha256>        before the first document that refers to it
    vectors/<sha256>          before their document, if it has any
    documents/<sha256>.json   everything else of a document
    end.json                  how many there were: a bundle without it was cut off

Each member between the first and the last is named by the SHA-256 of its content, so damage is found before
anything is made of it. What a member refers to comes before it, so a reader never holds more than one document.
Equal bases make equal bundles: nothing in it tells when or where it was made.

Everything read is taken for what anybody may have written: `reading` gives out nothing that it has not checked.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from kb.engine.model.portable import STRICT, DocumentRecord

MEDIA_TYPE = "application/x-tar"
BLOCK_BYTES = 512


def padding_of(size_bytes: int) -> int:
    """How many zeros follow a member of this size: each begins with a block of its own."""
    return -size_bytes % BLOCK_BYTES


class BundleNotice(BaseModel):
    """The first member."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["kb-bundle"] = "kb-bundle"
    version: int = 1


class BundleEnd(BaseModel):
    """The last member."""

    model_config = ConfigDict(extra="forbid", strict=True)

    documents: NonNegativeInt
    originals: NonNegativeInt


@dataclass(frozen=True)
class DocumentMember:
    __pydantic_config__ = STRICT

    document: DocumentRecord
    vectors: str | None
