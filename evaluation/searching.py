"""A judged set, searched as users search: over HTTP, in an engine that is a process of its own."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from bench.engine_process import start_engine

from evaluation.bases import ItemIds, fill_base
from evaluation.scores import Rankings, SetScores, score
from evaluation.sets import JudgedQuery, JudgedSet
from kb.engine.model import DocumentId
from kb.engine.ports import Embedder
from kb.engine.search.hybrid import Grouping, Mode

# As deep as the deepest figure looks (Recall@100).
DEPTH = 100
# The engine has few cores; more would only wait there.
AT_A_TIME = 2


def measure(judged: JudgedSet, embedder: Embedder, data_dir: Path, store_url: str = "") -> SetScores:
    """Search for every query in every mode. The embedder makes the vectors of the base; the engine has its own."""
    item_ids = fill_base(data_dir, judged, embedder, store_url)
    with start_engine(data_dir, store_url=store_url) as (client, _):
        by_mode = {mode: _rank(client, judged, mode, item_ids) for mode in Mode}
    return score(judged.name, judged.queries, by_mode)


def _rank(client: httpx.Client, judged: JudgedSet, mode: Mode, item_ids: ItemIds) -> Rankings:
    def find_items(query: JudgedQuery) -> list[str]:
        """The items found, best first, each at the place of its best chunk."""
        found = _search(client, query, mode, judged.grouping)
        return list(dict.fromkeys(item_ids[document_id][page_num] for document_id, page_num in found))

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(find_items, judged.queries))


def _search(
    client: httpx.Client, query: JudgedQuery, mode: Mode, grouping: Grouping
) -> Iterator[tuple[DocumentId, int]]:
    """The document and page of each hit."""
    wanted = {"query": query.text, "mode": mode, "top": DEPTH, "group_by": grouping, "tags": query.tags}
    answer = client.post("/api/v1/search", json=wanted).raise_for_status().json()
    assert not answer["degraded"], "The engine searched without its model: these figures would not be hybrid search's."
    for hit in answer["results"]:
        yield DocumentId(hit["document_id"]), hit["page_num"] or 0
