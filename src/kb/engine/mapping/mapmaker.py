"""When the map is made: in the background, when there is nothing else to do.

A new document is put beside those most like it, and moves nobody. Only when more than a fifth of the documents have
come or changed since all were laid out, all are laid out again, beginning where they lie: so the map stays one that
people know.

Of more than 20,000 documents only so many are laid out, always the same ones as far as they are still there, and the
others put beside them: what all costs then grows no faster than their number.

Invariants:
1. Nobody waits for it. It goes on only while no job is to be done, and looks for one several times a second.
2. It may be stopped at any moment. Layouts are numbered; whoever has no place of the newest is put beside the others.
3. Its memory is bounded: a vector for each document that is laid out, and some hundred more.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import numpy as np

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.mapping.layout import lay_out
from kb.engine.mapping.placing import place_beside
from kb.engine.model import DocumentId, Ids, Layout, Mask, Placement, Places, Vector, Vectors
from kb.engine.originals import Originals
from kb.engine.ports import Store

log = logging.getLogger(__name__)

# A document that was added when nothing else is to be done is on the map so soon.
LOOK_EVERY_SECONDS = 2.0
LOOK_AGAIN_AFTER_SECONDS = 60.0
LOOK_FOR_JOBS_EVERY_SECONDS = 0.25
MOST_LAID_OUT = 20_000
CHANGED_SHARE = 0.2
# Read in one go, and written in one transaction: some tenths of a second. A book has thousands of chunks.
DOCUMENTS_AT_ONCE = 500
CHUNKS_AT_ONCE = 20_000


class Stopped(Exception):
    """The worker has to end. What is written is whole, and the next one goes on from there."""


def keep_map(store: Store, originals: Originals, clock: Callable[[], datetime], stopping: threading.Event) -> None:
    """Keep the map up to date, until told to stop."""
    mapmaker = Mapmaker(store, stopping)
    while not stopping.is_set():
        rest = LOOK_EVERY_SECONDS
        try:
            mapmaker.look()
        except Stopped:
            return
        except (Unavailable, StorageFull) as error:
            log.warning("The map could not be made; trying again later. %s", error.message)
            rest = LOOK_AGAIN_AFTER_SECONDS
        stopping.wait(rest)


class Mapmaker:
    def __init__(self, store: Store, stopping: threading.Event) -> None:
        self._store = store
        self._stopping = stopping
        self._seen_event: int | None = None
        self._written = 0
        self._vectors: dict[int, Vector] = {}
        """Of those that are or were last laid out, by mark."""
        self._look_for_jobs_at = 0.0

    def look(self) -> None:
        """Bring the map up to date, if anything has happened since the last look; raises `Stopped`."""
        newest = self._store.newest_event()
        if newest == self._seen_event:
            return
        self._breathe()
        self._written = 0
        layout = self._store.read_layout()
        if _is_outdated(layout):
            self._lay_out(layout)
            layout = self._store.read_layout()
        self._place_the_others(layout)
        # What this has written itself is no news.
        self._seen_event = newest + self._written

    def _lay_out(self, layout: Layout) -> None:
        laid_out = _sample(layout.document_ids)
        vectors, has_vectors = self._load(layout, laid_out)
        laid_out = laid_out[has_vectors]
        ids = layout.document_ids[laid_out]
        started = time.monotonic()
        start = _start_from(layout.places[laid_out], ids, vectors, self._breathe)
        places = lay_out(vectors, start=start, breathe=self._breathe)
        self._write(Placement(layout.number + 1, ids, layout.marks[laid_out], places, is_laid_out=True))
        log.info("%d documents are laid out on the map, in %.1f s.", len(ids), time.monotonic() - started)

    def _place_the_others(self, layout: Layout) -> None:
        others = np.flatnonzero(~layout.is_current)
        known = np.flatnonzero(layout.is_current)
        if not len(others) or not len(known):
            return
        known = known[_sample(layout.document_ids[known])]
        vectors, has_vectors = self._load(layout, known)
        places = layout.places[known[has_vectors]]
        for rows in _in_batches(others, layout.chunk_counts[others]):
            ids, marks = layout.document_ids[rows], layout.marks[rows]
            found = self._store.load_document_vectors(ids)
            there = np.array([one in found for one in ids.tolist()], np.bool_)
            if there.any() and len(vectors):
                some = np.array([found[DocumentId(one)] for one in ids[there].tolist()])
                spots = place_beside(some, ids[there], vectors, places, self._breathe)
                self._write(Placement(layout.number, ids[there], marks[there], spots, is_laid_out=False))
            self._breathe()

    def _write(self, placement: Placement) -> None:
        self._store.place_documents(placement)
        self._written += 1

    def _load(self, layout: Layout, rows: Ids) -> tuple[Vectors, Mask]:
        """The vectors of these documents, and which of them still have one; all others are forgotten."""
        ids, marks = layout.document_ids[rows], layout.marks[rows]
        wanted = set(marks.tolist())
        self._vectors = {mark: vector for mark, vector in self._vectors.items() if mark in wanted}
        missing = np.flatnonzero([mark not in self._vectors for mark in marks.tolist()])
        for some in _in_batches(missing, layout.chunk_counts[rows[missing]]):
            found = self._store.load_document_vectors(ids[some])
            for document_id, mark in zip(ids[some].tolist(), marks[some].tolist(), strict=True):
                if document_id in found:
                    self._vectors[mark] = found[document_id]
            self._breathe()
        has_vectors = np.array([mark in self._vectors for mark in marks.tolist()], np.bool_)
        vectors = [self._vectors[mark] for mark in marks[has_vectors].tolist()]
        return np.array(vectors, np.float32), has_vectors

    def _breathe(self) -> None:
        """Let jobs go first."""
        if self._stopping.is_set():
            raise Stopped
        if time.monotonic() < self._look_for_jobs_at:
            return
        while self._store.count_jobs().has_work:
            if self._stopping.wait(LOOK_FOR_JOBS_EVERY_SECONDS):
                raise Stopped
        self._look_for_jobs_at = time.monotonic() + LOOK_FOR_JOBS_EVERY_SECONDS


def _is_outdated(layout: Layout) -> bool:
    sample = _sample(layout.document_ids)
    return int(np.count_nonzero(~layout.is_laid_out[sample])) > CHANGED_SHARE * len(sample)


def _sample(document_ids: Ids) -> Ids:
    """The rows of those to be laid out. Ids are multiplied so that any of them are as likely as others to be among
    them, and each time the same."""
    if len(document_ids) <= MOST_LAID_OUT:
        return np.arange(len(document_ids))
    scattered = document_ids * 2_654_435_761 % 2**32
    return np.sort(np.argsort(scattered, kind="stable")[:MOST_LAID_OUT])


def _start_from(places: Places, ids: Ids, vectors: Vectors, breathe: Callable[[], None]) -> Places | None:
    """Where each lies, or would if it were put beside the others; None if most lie nowhere."""
    is_known = ~np.isnan(places[:, 0])
    if np.count_nonzero(is_known) * 2 < len(places):
        return None
    start = places.copy()
    if not is_known.all():
        new = ~is_known
        start[new] = place_beside(vectors[new], ids[new], vectors[is_known], places[is_known], breathe)
    return start


def _in_batches(rows: Ids, chunk_counts: Ids) -> Iterator[Ids]:
    """So many at a time, or fewer if they have many chunks; one that has more stands alone."""
    ends, start = np.cumsum(chunk_counts), 0
    while start < len(rows):
        read = ends[start - 1] if start else 0
        fitting = int(np.searchsorted(ends, read + CHUNKS_AT_ONCE, side="right"))
        end = min(max(fitting, start + 1), start + DOCUMENTS_AT_ONCE)
        yield rows[start:end]
        start = end
