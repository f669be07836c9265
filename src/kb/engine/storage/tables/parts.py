"""The parts that both stores are made of; each adds how it finds, and how it checks itself."""

from kb.engine.storage.tables.base import BaseRows
from kb.engine.storage.tables.chunks import ChunkRows
from kb.engine.storage.tables.claims import ClaimRows
from kb.engine.storage.tables.documents import DocumentRows
from kb.engine.storage.tables.jobs import JobRows
from kb.engine.storage.tables.journal import JournalRows
from kb.engine.storage.tables.mapping import MappingRows
from kb.engine.storage.tables.portable import PortableRows
from kb.engine.storage.tables.reindexing import ReindexingRows
from kb.engine.storage.tables.revisions import RevisionRows
from kb.engine.storage.tables.shortfalls import ShortfallRows
from kb.engine.storage.tables.tags import TagRows


class SharedParts(
    DocumentRows,
    ChunkRows,
    RevisionRows,
    TagRows,
    JobRows,
    ClaimRows,
    ReindexingRows,
    PortableRows,
    JournalRows,
    MappingRows,
    ShortfallRows,
    BaseRows,
):
    """All that a store does in the same words on either database."""
