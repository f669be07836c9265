"""The parts that both stores are made of; each adds how it finds, and how it checks itself."""

from kb.engine.storage.tables.chunks import ChunksPart
from kb.engine.storage.tables.claims import ClaimsPart
from kb.engine.storage.tables.documents import DocumentsPart
from kb.engine.storage.tables.identity import IdentityPart
from kb.engine.storage.tables.jobs import JobsPart
from kb.engine.storage.tables.journal import JournalPart
from kb.engine.storage.tables.mapping import MappingPart
from kb.engine.storage.tables.portable import PortablePart
from kb.engine.storage.tables.reindexing import ReindexingPart
from kb.engine.storage.tables.revisions import RevisionsPart
from kb.engine.storage.tables.shortfalls import ShortfallsPart
from kb.engine.storage.tables.tags import TagsPart


class SharedParts(
    DocumentsPart,
    ChunksPart,
    RevisionsPart,
    TagsPart,
    JobsPart,
    ClaimsPart,
    ReindexingPart,
    PortablePart,
    JournalPart,
    MappingPart,
    ShortfallsPart,
    IdentityPart,
):
    """All that a store does in the same words on either database."""
