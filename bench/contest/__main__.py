"""kb and its peers side by side: the same texts and vectors, asked in turn, processor time a request.

    python -m bench.contest [CORPUS] [--sizes N...] [--figures FILE] [--contestants NAME...]

CORPUS is a folder made by `python -m bench.corpus`. Without one the text is what the standard library says about
itself and the vectors are made up: good for a look at costs, but recall says nothing then, and the tables say so.
"""

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.contest.child import CONTESTANTS
from bench.contest.contestant import Corpus
from bench.contest.machine import describe_machine
from bench.contest.made_up import write_made_up_corpus
from bench.contest.measuring import Contest, Figures
from bench.contest.processes import PEERS_PYTHON
from bench.contest.report import render

USUAL = [name for name in CONTESTANTS if name != "lancedb-ivf"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure kb and its peers side by side.")
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    parser.add_argument("--contestants", nargs="+", default=USUAL, choices=CONTESTANTS)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="the Python that the peers are installed for")
    parser.add_argument("--figures", type=Path, help="a JSON file to write all figures to")
    parser.add_argument("--folder", type=Path, help="where the bases are made; a temporary folder if not given")
    parser.add_argument("--keep", action="store_true", help="leave them there for another run, and measure no changes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus_folder: Path = options.corpus or write_made_up_corpus(Path(temporary, "corpus"), max(options.sizes))
        contest = Contest(
            corpus_folder.resolve(),
            (options.folder or Path(temporary, "bases")).resolve(),
            options.peers,
            tuple(options.contestants),
            options.queries,
            options.keep,
        )
        machine = describe_machine(options.peers)
        print(f"{machine}\n")
        if options.corpus is None:
            print("Made-up vectors: take no recall from this.\n")
        ready = Corpus(corpus_folder).chunk_count
        measured: list[Figures] = []
        for size in options.sizes:
            assert size <= ready, f"The corpus has {ready} chunks with vectors so far."
            figures = contest.run(size)
            print(render(figures), flush=True)
            measured += figures
            if options.figures is not None:
                options.figures.write_text(
                    json.dumps({"machine": machine, "figures": [asdict(one) for one in measured]})
                )


if __name__ == "__main__":
    main()
