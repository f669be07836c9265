"""Measure search on judged sets, and fail if it got worse.

    python -m evaluation.run DATA [SET ...] [--accept] [--store-url URL]

Each set becomes a base, an engine is started on it, and every query is searched over HTTP in each mode; beside them
stands reciprocal rank fusion of the same two lists. The bracket after a figure holds 95 of 100 means of its
queries' resamples (`bootstrap.py`); the differences to other methods are those of nDCG@10, query by query.

Exit status 1 says that hybrid search fell below `accepted.json` or is far below one of its two parts (`gate.py`).
`--accept` writes its scores there instead of comparing them with those there; with its parts it is compared even then.
With `--store-url` the bases are made in that PostgreSQL database, which has to be empty, and have to score as well as
those of SQLite did.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from evaluation.cached_embedder import open_cached_embedder
from evaluation.gate import accept, find_faults, read_accepted, write_accepted
from evaluation.report import render
from evaluation.searching import measure
from evaluation.sets import find_sets, load_set


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.run", description="Measure search on judged sets.")
    parser.add_argument("data", type=Path, help="the folder that holds a folder for each set")
    parser.add_argument("sets", nargs="*", help="which sets (all)", metavar="SET")
    parser.add_argument("--accept", action="store_true", help="write the scores to accepted.json instead of comparing")
    parser.add_argument("--store-url", default="", help="an empty PostgreSQL database (SQLite)", metavar="URL")
    options = parser.parse_args()
    folders = {folder.name: folder for folder in find_sets(options.data)} if options.data.is_dir() else {}
    if not folders:
        parser.error(f"There is no judged set in {options.data}.")
    unknown = [name for name in options.sets if name not in folders]
    if unknown:
        parser.error(f"There is no set {unknown[0]}; there are {', '.join(folders)}.")

    accepted = read_accepted()
    faults: list[str] = []
    with open_cached_embedder() as embedder, tempfile.TemporaryDirectory() as bases:
        for name in options.sets or folders:
            # A database goes on with the originals that it began with.
            data_dir = Path(bases, "shared" if options.store_url else name)
            data_dir.mkdir(exist_ok=True)
            scores = measure(load_set(folders[name]), embedder, data_dir, options.store_url)
            print(render(scores), flush=True)
            if options.accept:
                accepted[name] = accept(scores)
            faults += find_faults(scores, accepted.get(name))
    if options.accept:
        write_accepted(accepted)
    print("\n".join(faults) or "Nothing fell.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
