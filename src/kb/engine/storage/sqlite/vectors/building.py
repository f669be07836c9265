"""When the files of many vectors are made, and how well those who search in them find.

It takes some ten seconds for a million, so a worker does it and nobody waits. How many of the nearest by code have to
be compared exactly depends on the vectors; it is found out with vectors of the base itself.
"""

import uuid
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np

from kb.engine.model import Ids, Vectors
from kb.engine.originals import explain_disk_error
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.index_log import KEPT_CHANGES, documents_changed_since, newest_change
from kb.engine.storage.sqlite.vectors.coded import CodedRows
from kb.engine.storage.sqlite.vectors.files import (
    About,
    new_folder,
    open_rows,
    read_about,
    read_token,
    remove_files,
    remove_token,
    write_about,
    write_rows,
    write_token,
)
from kb.engine.storage.sqlite.vectors.reading import count_chunks_of, count_vectors, read_vectors

# Up to here comparing all takes 7 ms at most.
CODED_FROM = 50_000
# So many that are new are compared one by one, in 2 ms.
MOST_FRESH_ROWS = 20_000
DEAD_SHARE_TO_REBUILD = 0.2
# What the log forgets would have to be read anew at the next start.
MOST_CHANGES = KEPT_CHANGES // 2

COMPARED = (200, 500, 1_000, 2_000, 4_000)
LEAST_RECALL = 0.99
TRIALS = 128
# A trial then has a cosine of .74 with its chunk.
NOISE = 0.9
NEAREST = 10
WANTED = 200
ROWS_AT_ONCE = 8_192


def build_files(database: Database, base: Path, model: str) -> None:
    """Make the files anew if search would be the quicker for it, and remove those that are no longer used.

    Raises `StorageFull` or `Unavailable` if they cannot be written; those that were there are there still.
    """
    try:
        _build_if_due(database, base, model)
    except OSError as error:
        otherwise = "The index of vectors cannot be written. Check who may write to the data directory."
        raise explain_disk_error(error, otherwise=otherwise) from error


def _build_if_due(database: Database, base: Path, model: str) -> None:
    with database.read() as db:
        token = read_token(db)
        count = count_vectors(db, model)
        is_due = count >= CODED_FROM and _is_outdated(db, base, model, token, count)
    if is_due:
        _build(database, base, model)
    elif token is not None and count < CODED_FROM // 2:
        with database.write() as db:
            remove_token(db)
    else:
        return
    if token is not None:
        remove_files(base, token)


def _is_outdated(db: apsw.Connection, base: Path, model: str, token: str | None, count: int) -> bool:
    about = None if token is None else read_about(base, token)
    if about is None or about.model != model:
        return True
    _, changed = documents_changed_since(db, about.seq)
    if changed is None or len(changed) > MOST_CHANGES:
        return True
    fresh = count_chunks_of(db, changed)
    dead = about.count - (count - fresh)
    return fresh > MOST_FRESH_ROWS or dead > about.count * DEAD_SHARE_TO_REBUILD


def _build(database: Database, base: Path, model: str) -> None:
    token = uuid.uuid4().hex
    with new_folder(base, token) as folder:
        with database.read() as db:
            seq = newest_change(db)
            count, dimension = write_rows(folder, read_vectors(db, model))
        about = About(token, model, seq, count, dimension, COMPARED[0], recall=0.0)
        write_about(folder, _calibrate(folder, about))
    with database.write() as db:
        write_token(db, token)


def _calibrate(folder: Path, about: About) -> About:
    """With the least number to compare that finds enough, or the most."""
    rows = open_rows(folder, about).rows
    trials = _make_trials(rows)
    nearest = find_exactly(rows, trials)
    recall = 0.0
    for compared in COMPARED:
        recall = measure_recall(replace(rows, compared=compared), trials, nearest)
        about = replace(about, compared=compared, recall=recall)
        if recall >= LEAST_RECALL:
            break
    return about


def _make_trials(rows: CodedRows) -> Vectors:
    """Vectors near some of the base: as hard to find by code as those of real questions, or a little harder."""
    near = rows.read(np.linspace(0, rows.count - 1, min(TRIALS, rows.count)).astype(np.int64))
    noise = np.random.default_rng(rows.count).normal(size=near.shape)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray((near + noise) / np.linalg.norm(near + noise, axis=1, keepdims=True), np.float32)


def find_exactly(rows: CodedRows, queries: Vectors) -> Ids:
    """The rows nearest to each query, by comparing all."""
    best = np.full((len(queries), NEAREST), -1, np.int64)
    best_scores = np.full((len(queries), NEAREST), -np.inf, np.float32)
    for start in range(0, rows.count, ROWS_AT_ONCE):
        some = np.arange(start, min(start + ROWS_AT_ONCE, rows.count))
        scores = np.hstack([best_scores, queries @ rows.read(some).T])
        places = np.argpartition(-scores, NEAREST - 1, axis=1)[:, :NEAREST]
        candidates = np.hstack([best, np.broadcast_to(some, (len(queries), len(some)))])
        best = np.take_along_axis(candidates, places, axis=1)
        best_scores = np.take_along_axis(scores, places, axis=1)
    return best


def measure_recall(rows: CodedRows, queries: Vectors, nearest: Ids) -> float:
    found = [
        np.isin(expected, rows.find_nearest(query, rows.is_alive, limit=WANTED).rows).mean()
        for query, expected in zip(queries, nearest, strict=True)
    ]
    return float(np.mean(found))
