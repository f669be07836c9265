"""What it costs to make files searchable, against the least that anybody would have to do.

    python -m bench.ingestion

Text: our whole way (a child process that reads, splitting, embedding, one commit a document) against
sentence-transformers at its default batch plus sqlite-vec and FTS5, which are given the finished chunks: with one
thread each, and as each uses the machine if nobody says anything. PDF: our whole way against bare pypdfium2 plus our
embedder, given the finished chunks. Both ways do each group of documents in turn, so that whatever else the machine
does falls on both alike. Time is that of the processors, children included.

sentence-transformers is no dependency of kb, and has an environment of its own: without it only the PDFs are measured.
"""

import os
import resource
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pypdfium2
from tests.pdf_files import make_text_pdf

from bench.contest.processes import ONE_THREAD, make_environment
from bench.filled_base import read_docstrings
from bench.json_child import ROOT, start_json_child
from kb.engine import documents
from kb.engine.embedding import open_embedder
from kb.engine.ingestion.indexing import in_context
from kb.engine.ingestion.worker import Worker
from kb.engine.model import DocumentQuery, FileSubmission, Lane, Passage
from kb.engine.models_on_disk import model_locations
from kb.engine.ports import Embedder
from kb.engine.wiring import Engine, EngineOptions, open_engine
from kb.settings import cache_dir

# So many that what else the machine does, which changes within seconds, falls on all ways alike.
GROUPS = 40
CHARACTERS_A_PAGE = 3_000

FORKER = "kb.engine.ingestion.extraction.fork_server"
ANCHOR_PYTHON = ROOT / ".peers" / "anchor" / "bin" / "python"

Anchor = Callable[[list[list[str]]], float]
"""From the chunks of each document to the processor seconds that it took."""


@dataclass(frozen=True)
class File:
    name: str
    format: str
    content: bytes


def main() -> None:
    model_folder, graph_dir = model_locations(cache_dir(), None)
    texts = list(read_texts())
    measure_pdfs(texts, model_folder, graph_dir)
    if not ANCHOR_PYTHON.exists():
        print("Text: sentence-transformers is not there. Run `make .peers/anchor/.set-up`, then this again.")
        return
    with start_anchor(model_folder, make_environment()) as anchor:
        print("One thread each:")
        measure_texts(texts, open_embedder(model_folder, graph_dir, threads=1), anchor)
    unlimited = {name: value for name, value in make_environment().items() if name not in ONE_THREAD}
    with start_anchor(model_folder, unlimited) as anchor:
        print("All threads:")
        embedder = open_embedder(model_folder, graph_dir, threads=1, batches_at_once=os.cpu_count() or 1)
        measure_texts(texts, embedder, anchor)


def read_texts() -> Iterator[str]:
    """What each module of the standard library says about itself, as one text a module."""
    for module in read_docstrings():
        text = "\n\n".join(module)
        if len(text) > CHARACTERS_A_PAGE:
            yield text


def measure_texts(texts: list[str], embedder: Embedder, anchor: Anchor) -> None:
    ours = theirs = 0.0
    chunk_count = 0
    with open_base() as engine:
        for group in range(GROUPS):
            files = [File(f"{n}.txt", "txt", text.encode()) for n, text in enumerate(texts) if n % GROUPS == group]
            with counted() as spent:
                ingest(engine, embedder, files)
            ours += spent()
            chunked = list(read_chunks(engine, len(files)))
            theirs += anchor(chunked)
            chunk_count += sum(map(len, chunked))
    print(f"Text: {len(texts)} files, {chunk_count} chunks, {sum(map(len, texts)) / 1e6:.1f} million characters")
    print(f"  kb, all of it                          {chunk_count / ours:7.1f} chunks a CPU second")
    print(
        f"  sentence-transformers + sqlite-vec     {chunk_count / theirs:7.1f}    kb does {theirs / ours:.2f} x as many"
    )


def measure_pdfs(texts: list[str], model_folder: Path, graph_dir: Path) -> None:
    ours = theirs = bare = 0.0
    page_count = 0
    embedder = open_embedder(model_folder, graph_dir, threads=1)
    with open_base() as engine:
        for group in range(GROUPS):
            pdfs = [make_text_pdf(cut_into_pages(text)) for n, text in enumerate(texts) if n % GROUPS == group]
            with counted() as spent:
                ingest(engine, embedder, [File(f"{n}.pdf", "pdf", content) for n, content in enumerate(pdfs)])
            ours += spent()
            chunked = list(read_chunks(engine, len(pdfs)))
            with counted() as spent:
                page_count += sum(map(read_barely, pdfs))
            bare += spent()
            with counted() as spent:
                for chunks in chunked:
                    embedder.embed_passages(chunks)
            theirs += spent()
    theirs += bare
    print(f"PDF: {len(texts)} files, {page_count} pages")
    print(f"  kb, all of it                  {page_count / ours:7.1f} pages a CPU second")
    print(f"  bare pypdfium2 + embedding     {page_count / theirs:7.1f}    kb takes {ours / theirs:.2f} x as long")
    print(f"  bare pypdfium2 alone           {page_count / bare:7.1f}")


def cut_into_pages(text: str) -> list[str]:
    return [text[start : start + CHARACTERS_A_PAGE] for start in range(0, len(text), CHARACTERS_A_PAGE)]


def read_barely(content: bytes) -> int:
    document = pypdfium2.PdfDocument(content)
    for page in document:
        page.get_textpage().get_text_bounded()
    return len(document)


@contextmanager
def open_base() -> Iterator[Engine]:
    model_folder, graph_dir = model_locations(cache_dir(), None)
    with tempfile.TemporaryDirectory() as folder:
        options = EngineOptions(Path(folder), model_folder, graph_dir, max_file_bytes=1 << 30, threads=1)
        with open_engine(options) as engine:
            while not engine.embedder.is_ready:
                threading.Event().wait(0.01)
            yield engine


def ingest(engine: Engine, embedder: Embedder, files: Sequence[File]) -> None:
    for file in files:
        with engine.originals.receive() as incoming:
            incoming.write(file.content)
            submission = FileSubmission(incoming.finish(), file.name, file.format, len(file.content))
            documents.submit_file(
                engine.store,
                engine.originals,
                incoming,
                submission,
                idempotency_key=None,
                max_queued=len(files),
                now=engine.clock(),
            )
    worker = Worker(replace(engine.pipeline, embedder=embedder), Lane.BULK, threading.Event())
    while worker.work_once():
        pass


def read_chunks(engine: Engine, newest: int) -> Iterator[list[str]]:
    """The texts that were embedded of each of the newest documents."""
    for document in engine.store.list_documents(DocumentQuery(limit=newest)).rows:
        chunks = engine.store.read_document(document.id).chunks
        passages = (Passage(chunk.text, chunk.heading, chunk.page_num) for chunk in chunks)
        yield [in_context(passage, document.title, engine.embedder) for passage in passages]


@contextmanager
def start_anchor(model_folder: Path, environment: dict[str, str]) -> Iterator[Anchor]:
    module = "bench.ingestion_anchor"
    with start_json_child(ANCHOR_PYTHON, module, str(model_folder), environment=environment) as child:
        yield lambda documents: float(child.ask(documents)["cpu"])


@contextmanager
def counted() -> Iterator[Callable[[], float]]:
    before = _cpu_seconds()
    yield lambda: _cpu_seconds() - before


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in used)
    # The process that readers are forked off lives on, and counts those that have ended.
    for child in psutil.Process().children():
        if FORKER in "".join(child.cmdline()):
            seconds += sum(child.cpu_times()[:4])
    return seconds


if __name__ == "__main__":
    main()
