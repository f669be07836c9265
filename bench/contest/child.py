"""A contestant in a process of its own: requests come in as lines of JSON, answers go out as such.

    python -m bench.contest.child CONTESTANT CORPUS FOLDER

Each answer says how much processor time the request took, of all threads; and how much the process has taken since
its start, for what goes on between requests.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.contest.contestant import Contestant, Corpus, Document, Query

CONTESTANTS = {
    "kb": ("kb_store", "KbStore"),
    "recipe": ("recipe", "Recipe"),
    "chromadb": ("chroma", "Chroma"),
    "lancedb": ("lance", "Lance"),
    "lancedb-ivf": ("lance", "IndexedLance"),
    "txtai": ("txtai_index", "Txtai"),
}


class Child:
    def __init__(self, contestant: Contestant, corpus: Corpus) -> None:
        self._contestant = contestant
        self._corpus = corpus
        self._texts, self._vectors = corpus.read_queries()

    def prepare(self, request: dict[str, Any]) -> Callable[[], list[int] | None]:
        """What is to be measured, with all that it is given read already."""
        contestant = self._contestant
        match request["operation"]:
            case "fill":
                documents = self._corpus.read_documents(request["chunks"])
                return lambda: contestant.fill(documents)
            case "search":
                query = self._to_query(request)
                return lambda: contestant.search(query)
            case "nearest":
                query = self._to_query(request)
                return lambda: contestant.find_nearest(query)
            case "update":
                other = self._corpus.read_document(request["by"])
                document = Document(request["document"], other.texts, other.vectors)
                return lambda: contestant.update(document)
            case "delete":
                number = request["document"]
                return lambda: contestant.delete(number)
        raise ValueError(request["operation"])

    def _to_query(self, request: dict[str, Any]) -> Query:
        number = request["query"] % len(self._texts)
        return Query(self._texts[number], self._vectors[number], request["mode"], request["percent"])


def main() -> None:
    name, corpus_folder, folder = sys.argv[1:]
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, class_name = CONTESTANTS[name]
    corpus = Corpus(Path(corpus_folder))
    make = getattr(import_module(f"bench.contest.contestants.{module}"), class_name)
    contestant: Contestant = make(Path(folder), corpus.vectors.shape[1])
    child = Child(contestant, corpus)
    for line in sys.stdin:
        task = child.prepare(json.loads(line))
        before = time.process_time()
        found = task()
        after = time.process_time()
        answers.write(json.dumps({"found": found, "cpu": after - before, "cpu_in_all": after}) + "\n")
        answers.flush()
    contestant.close()


if __name__ == "__main__":
    main()
