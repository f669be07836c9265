"""A client that does everything a client can do, and remembers what was acknowledged.

Each client alone writes its documents. So whatever was not answered can be asked again, and there is always one right
answer to what a document must be like.
"""

import hashlib
import random
import time
from dataclasses import dataclass
from typing import Any

import httpx

ENOUGH_DOCUMENTS = 30
# More would only have the worker's speed measured at the end.
ENOUGH_WAITING = 6
ANSWER_WITHIN_SECONDS = 60
PAGE = 1000


@dataclass
class Entry:
    """What was acknowledged of one document."""

    word: str
    """Found in this document alone."""
    is_note: bool
    job_id: int
    content_hash: str
    tags: list[str]
    document_id: int | None = None
    """None until its job is known to be completed."""
    is_deleted: bool = False


class Client:
    def __init__(self, url: str, name: str, chance: random.Random) -> None:
        self.entries: list[Entry] = []
        self.acknowledged = 0
        self._missed_answers = 0
        self._http = httpx.Client(base_url=f"{url}/api/v1", trust_env=False, timeout=30)
        self._name = name
        self._chance = chance

    def close(self) -> None:
        self._http.close()

    def do_something(self) -> None:
        """One write or search. If answers were missed, the engine was down: then look at everything again."""
        missed_before = self._missed_answers
        waiting = [entry for entry in self.entries if entry.document_id is None]
        living = [entry for entry in self.entries if entry.document_id is not None and not entry.is_deleted]
        if waiting:
            self.settle(waiting[0])
        may_add = len(waiting) < ENOUGH_WAITING and len(waiting) + len(living) < ENOUGH_DOCUMENTS
        if may_add and self._chance.random() < 0.4:
            self.add_something()
        elif living:
            change = self._chance.choice([self._rewrite, self._rewrite, self._tag, self._delete, self._search])
            change(self._chance.choice(living))
        if self._missed_answers > missed_before:
            self.verify()

    def add_something(self) -> None:
        self._chance.choice([self._add_note, self._add_note, self._add_file])()

    def _add_note(self) -> None:
        word = self._new_word()
        text = f"{word} is a note. " * self._chance.choice([1, 1, 1, 40])
        body = {"type": "note", "text": text, "tags": [self._name]}
        response, _ = self._ask("POST", "/jobs", json=body, headers={"Idempotency-Key": word})
        self._remember(word, text, response, is_note=True)

    def _add_file(self) -> None:
        word = self._new_word()
        text = f"# {word}\n\n" + "A file, as Markdown.\n\n" * self._chance.choice([1, 50])
        response, _ = self._ask(
            "POST",
            "/jobs",
            files={"file": (f"{word}.md", text.encode(), "text/markdown")},
            data={"tags": [self._name]},
            headers={"Idempotency-Key": word},
        )
        self._remember(word, text, response, is_note=False)

    def _remember(self, word: str, text: str, response: httpx.Response, *, is_note: bool) -> None:
        job_id = response.raise_for_status().json()["id"]
        self.entries.append(Entry(word, is_note, job_id, hash_of(text), tags=[self._name]))
        self.acknowledged += 1

    def _rewrite(self, entry: Entry) -> None:
        if not entry.is_note:
            return
        path = f"/documents/{entry.document_id}?chunks=false"
        etag = self._ask("GET", path)[0].raise_for_status().headers["ETag"]
        text = f"{entry.word} is a note after {self.acknowledged} writes. " * self._chance.choice([1, 40])
        response, is_repeated = self._ask(
            "PATCH", f"/notes/{entry.document_id}", json={"text": text}, headers={"If-Match": etag}
        )
        # Nobody else writes this note. If it has changed, then by the request that was not answered.
        assert response.is_success or (is_repeated and response.status_code == 412), response.text
        entry.content_hash = hash_of(text)
        self.acknowledged += 1

    def _tag(self, entry: Entry) -> None:
        tag = f"after {self.acknowledged} writes"
        response, _ = self._ask("PATCH", f"/documents/{entry.document_id}/tags", json={"add": [tag]})
        response.raise_for_status()
        entry.tags.append(tag)
        self.acknowledged += 1

    def _delete(self, entry: Entry) -> None:
        response, is_repeated = self._ask("DELETE", f"/documents/{entry.document_id}")
        assert response.is_success or (is_repeated and response.status_code == 404), response.text
        entry.is_deleted = True
        self.acknowledged += 1

    def _search(self, entry: Entry) -> None:
        assert self.find(entry.word) == [entry.document_id]

    def find(self, word: str) -> list[int]:
        body = {"query": word, "mode": "fts", "group_by": "document"}
        response, _ = self._ask("POST", "/search", json=body)
        return [hit["document_id"] for hit in response.raise_for_status().json()["results"]]

    def settle(self, entry: Entry) -> bool:
        """Look whether its job is done; tell whether it is."""
        job = self._ask("GET", f"/jobs/{entry.job_id}")[0].raise_for_status().json()
        assert job["status"] in ("queued", "running", "completed"), job
        assert not job["duplicate"]
        entry.document_id = job["document_id"]
        return entry.document_id is not None

    def verify(self) -> None:
        """Everything acknowledged is there as it was acknowledged, and what was deleted is not."""
        stored = self._list_documents()
        for entry in self.entries:
            if entry.is_deleted:
                assert entry.document_id not in stored, entry
            elif entry.document_id is not None:
                document = stored[entry.document_id]
                assert (document["content_hash"], document["tags"]) == (entry.content_hash, entry.tags), entry
            else:
                self.settle(entry)

    def _list_documents(self) -> dict[int, dict[str, Any]]:
        query = {"tag": self._name, "sort": "date_added", "order": "asc", "limit": PAGE}
        stored: dict[int, dict[str, Any]] = {}
        while True:
            page = self._ask("GET", "/documents", params={**query, "offset": len(stored)})[0].raise_for_status().json()
            stored.update((document["id"], document) for document in page["documents"])
            if len(stored) >= page["total"]:
                return stored

    def _ask(self, method: str, path: str, **request: Any) -> tuple[httpx.Response, bool]:
        """Ask until answered, and tell whether it took more than once: a request that was not answered may count."""
        deadline = time.monotonic() + ANSWER_WITHIN_SECONDS
        is_repeated = False
        while True:
            try:
                response = self._http.request(method, path, **request)
                if response.status_code != 503:
                    return response, is_repeated
            except httpx.TransportError:
                is_repeated = True
            self._missed_answers += 1
            assert time.monotonic() < deadline, f"{method} {path} was not answered"
            time.sleep(0.1)

    def _new_word(self) -> str:
        number = f"{len(self.entries):05d}"
        return f"zq{self._name}" + "".join(chr(ord("a") + int(digit)) for digit in number)


def hash_of(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
