"""What the engine needs of the world: a place to keep things, and a model that turns text into numbers.

A port exists only where there are two providers. Each method of `Store` is one transaction, but for these: what is
read at `one_moment` is a part of that one, `tune_search` is as many as it takes, and `watch_jobs` is none. Three that
change no document may be two: `check_batch`, `has_whole_vectors` and `read_base_id`.

documents, tags     what is kept, and what it is filed under
jobs, claims        the queue, and what workers do with it
reindexing          the work that goes through all documents
portable            whole documents on their way from base to base
journal             what happened, for the audit log and for those who watch
search, mapping     what is found, and where it lies on the map
integrity, upkeep   whether all is still there, and who sees to that
identity            what the base is known by, and how it is
embedder            the model
"""

from typing import Protocol

from kb.engine.ports.claims import Claims
from kb.engine.ports.documents import Documents
from kb.engine.ports.embedder import Embedder
from kb.engine.ports.identity import Identity
from kb.engine.ports.integrity import Integrity
from kb.engine.ports.jobs import Jobs
from kb.engine.ports.journal import Journal
from kb.engine.ports.mapping import DocumentMap
from kb.engine.ports.portable import Portable
from kb.engine.ports.reindexing import Reindexing
from kb.engine.ports.search import Search
from kb.engine.ports.tags import Tags
from kb.engine.ports.upkeep import Upkeep

__all__ = ["ClaimLost", "Embedder", "Store"]


class ClaimLost(Exception):
    """The job was cancelled, finished or given to another worker: stop, and leave nothing behind."""


class Store(
    Documents,
    Tags,
    Jobs,
    Claims,
    Reindexing,
    Portable,
    Journal,
    Search,
    DocumentMap,
    Integrity,
    Upkeep,
    Identity,
    Protocol,
):
    def close(self) -> None: ...
