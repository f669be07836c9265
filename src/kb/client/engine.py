"""One method for each route of the engine."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from kb.client.calling import CONNECT_WITHIN_SECONDS, EngineConnection, Id, Json, given, quote_id
from kb.client.sending import Form, NamedFile, OnBytes, build_form, open_file, read_pieces

FIRST_POLL_SECONDS = 0.02
USUAL_POLL_SECONDS = 0.5
LONGEST_POLL_SECONDS = 5.0
BUNDLE_TYPE = "application/x-tar"
FINISHED = frozenset({"completed", "failed", "cancelled"})
CONFIRMATION_PHRASE = "DELETE ALL"


class EngineClient(EngineConnection):
    """To be used in `async with`, which closes its connections."""

    async def submit_note(
        self,
        text: str,
        *,
        title: str | None = None,
        tags: Iterable[str] = (),
        source_path: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        note = {"type": "note", "text": text, "title": title, "tags": [*tags]}
        body = given(**note, source_path=source_path, metadata=metadata)
        return await self._call("POST", "/jobs", json=body, headers=given(**{"Idempotency-Key": idempotency_key}))

    async def submit_file(
        self,
        file: str | Path | NamedFile,
        *,
        title: str | None = None,
        tags: Iterable[str] = (),
        source_path: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        force_ocr: bool = False,
        idempotency_key: str | None = None,
        on_progress: OnBytes | None = None,
    ) -> Json:
        """Send a file by its path, or what has no path as a file name with bytes or an open binary file.

        The file is read as it is sent, so memory stays flat. Raises `OSError` if it cannot be read, and `FileChanged`,
        which is one, if it becomes shorter meanwhile.
        """
        told = None if metadata is None else json.dumps(metadata)
        ocr = json.dumps(force_ocr)
        fields = given(title=title, source_path=source_path, metadata=told, force_ocr=ocr).items()
        form = [*fields, *(("tags", tag) for tag in tags)]
        headers = given(**{"Idempotency-Key": idempotency_key})
        if isinstance(file, tuple):
            return await self._send_form(await build_form(form, file, on_progress), headers)
        async with open_file(file) as opened:
            return await self._send_form(await build_form(form, (Path(file).name, opened), on_progress), headers)

    async def _send_form(self, form: Form, headers: Mapping[str, str]) -> Json:
        return await self._call("POST", "/jobs", content=form.content, headers={**headers, **form.headers})

    async def list_jobs(
        self, *, status: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Json:
        return await self._call("GET", "/jobs", params=given(status=status, limit=limit, offset=offset))

    async def get_job(self, job_id: Id) -> Json:
        return await self._call("GET", f"/jobs/{quote_id(job_id)}")

    async def cancel_job(self, job_id: Id, *, forget: bool = False) -> Json:
        return await self._call("POST", f"/jobs/{quote_id(job_id)}/cancel", params=given(forget=forget or None))

    async def retry_job(self, job_id: Id) -> Json:
        return await self._call("POST", f"/jobs/{quote_id(job_id)}/retry")

    async def wait_for_job(self, job_id: Id, *, on_progress: Callable[[Json], None] | None = None) -> Json:
        """The job once it is completed, failed or cancelled; `on_progress` gets it each time it is asked for.

        Waits as long as the job takes: put it into `asyncio.timeout` if that is too long.
        """
        async for job in self.watch_job(job_id):
            if on_progress is not None:
                on_progress(job)
        return job

    async def watch_job(self, job_id: Id) -> AsyncIterator[Json]:
        """The job each time it is asked for, more and more seldom, until it is completed, failed or cancelled."""
        began_at, pause = time.monotonic(), FIRST_POLL_SECONDS
        while True:
            job = await self.get_job(job_id)
            yield job
            if job["status"] in FINISHED:
                return
            await asyncio.sleep(pause)
            # Who has waited for minutes can wait another moment; there may be a thousand of them.
            waited = time.monotonic() - began_at
            pause = min(max(min(pause * 1.5, USUAL_POLL_SECONDS), waited / 20), LONGEST_POLL_SECONDS)

    async def search(
        self,
        query: str,
        *,
        top: int | None = None,
        offset: int | None = None,
        mode: str | None = None,
        fts_only: bool | None = None,
        vec_only: bool | None = None,
        tags: Iterable[str] = (),
        filters: Mapping[str, Any] | None = None,
        min_relevance: float | None = None,
        group_by: str | None = None,
        complete_last_word: bool | None = None,
    ) -> Json:
        limits = given(top=top, offset=offset, min_relevance=min_relevance, group_by=group_by)
        scope = given(mode=mode, fts_only=fts_only, vec_only=vec_only, tags=[*tags], filters=filters)
        sought = given(query=query, complete_last_word=complete_last_word)
        return await self._call("POST", "/search", json={**sought, **limits, **scope})

    async def list_documents(
        self,
        *,
        source_path: str | None = None,
        source_folder: str | None = None,
        tags: Iterable[str] = (),
        doc_type: str | None = None,
        format: str | None = None,
        q: str | None = None,
        sort: str | None = None,
        order: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Json:
        places = given(source_path=source_path, source_folder=source_folder)
        scope = given(tag=[*tags], doc_type=doc_type, format=format, q=q)
        page = given(sort=sort, order=order, limit=limit, offset=offset)
        return await self._call("GET", "/documents", params={**places, **scope, **page})

    async def get_document(
        self, document_id: Id, *, chunks: bool = True, chunk_limit: int | None = None, chunk_offset: int | None = None
    ) -> Json:
        which = given(chunks=None if chunks else False, chunk_limit=chunk_limit, chunk_offset=chunk_offset)
        return await self._call("GET", f"/documents/{quote_id(document_id)}", params=which)

    async def get_whole_document(self, document_id: Id) -> Json:
        """A document with all its chunks, in as many calls as needed."""
        document = await self.get_document(document_id)
        read = document
        while read["chunks"] and len(document["chunks"]) < read["chunk_count"]:
            read = await self.get_document(document_id, chunk_offset=len(document["chunks"]))
            document["chunks"] += read["chunks"]
        return document

    async def update_document(
        self,
        document_id: Id,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source_path: str | None = None,
        expected_version: int | None = None,
    ) -> Json:
        """A new `source_path` is where its file lies now; a file name and a title made from the old one follow."""
        change = given(title=title, metadata=metadata, source_path=source_path)
        return await self._change("PATCH", f"/documents/{quote_id(document_id)}", expected_version, change)

    async def get_document_file(self, document_id: Id) -> bytes:
        """The original as it was uploaded; of a note its text."""
        return (await self._send("GET", f"/api/v1/documents/{quote_id(document_id)}/file")).content

    async def download_document_file(
        self, document_id: Id, destination: BinaryIO, *, on_progress: OnBytes | None = None
    ) -> None:
        """As `get_document_file`, but into `destination` as it arrives: memory stays flat."""
        await self._download(f"/documents/{quote_id(document_id)}/file", destination, on_progress)

    async def get_document_page(
        self, document_id: Id, number: int, *, width: int | None = None, q: str = "", complete_last_word: bool = False
    ) -> bytes:
        """A page of a PDF or of a picture as a PNG, with the words of the query `q` marked."""
        path = f"/api/v1/documents/{quote_id(document_id)}/pages/{number}.png"
        parameters = given(width=width, q=q or None, complete_last_word=complete_last_word or None)
        return (await self._send("GET", path, params=parameters)).content

    async def delete_document(self, document_id: Id, *, expected_version: int | None = None) -> Json:
        return await self._change("DELETE", f"/documents/{quote_id(document_id)}", expected_version)

    async def clear_documents(self, *, confirm: bool, confirmation_phrase: str) -> Json:
        body = {"confirm": confirm, "confirmation_phrase": confirmation_phrase}
        return await self._call("DELETE", "/documents", json=body)

    async def change_tags(
        self,
        document_id: Id,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        expected_version: int | None = None,
    ) -> Json:
        change = {"add": [*add], "remove": [*remove]}
        return await self._change("PATCH", f"/documents/{quote_id(document_id)}/tags", expected_version, change)

    async def replace_tags(self, document_id: Id, tags: Iterable[str], *, expected_version: int | None = None) -> Json:
        path = f"/documents/{quote_id(document_id)}/tags"
        return await self._change("PUT", path, expected_version, {"tags": [*tags]})

    async def add_tags(self, document_id: Id, tags: Iterable[str], *, expected_version: int | None = None) -> Json:
        path = f"/documents/{quote_id(document_id)}/tags"
        return await self._change("POST", path, expected_version, {"tags": [*tags]})

    async def remove_tag(self, document_id: Id, tag: str, *, expected_version: int | None = None) -> Json:
        # Not by its own route: a tag called ".." would be taken for the way to the document itself.
        return await self.change_tags(document_id, remove=[tag], expected_version=expected_version)

    async def update_note(
        self,
        document_id: Id,
        text: str,
        *,
        title: str | None = None,
        tags: Iterable[str] | None = None,
        expected_version: int | None = None,
    ) -> Json:
        change = given(text=text, title=title, tags=None if tags is None else [*tags])
        return await self._change("PATCH", f"/notes/{quote_id(document_id)}", expected_version, change)

    async def list_revisions(self, document_id: Id, *, limit: int | None = None, offset: int | None = None) -> Json:
        parameters = given(limit=limit, offset=offset)
        return await self._call("GET", f"/notes/{quote_id(document_id)}/revisions", params=parameters)

    async def revert_note(self, document_id: Id, version: int, *, expected_version: int | None = None) -> Json:
        path = f"/notes/{quote_id(document_id)}/revert"
        return await self._change("POST", path, expected_version, {"version": version})

    async def list_audit_log(
        self, *, document_id: int | None = None, limit: int | None = None, offset: int | None = None
    ) -> Json:
        return await self._call("GET", "/audit", params=given(document_id=document_id, limit=limit, offset=offset))

    async def reindex(self) -> Json:
        return await self._call("POST", "/reindex")

    async def export_bundle(self, destination: BinaryIO, *, on_progress: OnBytes | None = None) -> None:
        """Write all documents into `destination` as they arrive. What was written when it raises is not a bundle."""
        await self._download("/export", destination, on_progress, BUNDLE_TYPE)

    async def import_bundle(self, source: BinaryIO, *, on_progress: OnBytes | None = None) -> Json:
        """Add the documents of a bundle, read from `source` as it is sent."""

        async def read() -> AsyncIterator[bytes]:
            async for piece in read_pieces(source):
                yield piece
                if on_progress is not None:
                    on_progress(len(piece))

        return await self._call("POST", "/import", content=read(), headers={"Content-Type": BUNDLE_TYPE})

    async def list_tags(self, *, limit: int | None = None, offset: int | None = None) -> Json:
        return await self._call("GET", "/tags", params=given(limit=limit, offset=offset))

    async def get_map(self, *, limit: int | None = None) -> Json:
        return await self._call("GET", "/map", params=given(limit=limit))

    async def get_status(self) -> Json:
        return await self._call("GET", "/status")

    async def check_live(self) -> Json:
        return self._read(await self._send("GET", "/health/live"))

    async def check_ready(self) -> Json:
        """Raises `httpx.HTTPStatusError` with 503 while it is not."""
        return self._read(await self._send("GET", "/health/ready"))

    async def check_integrity(self) -> Json:
        """Takes as long as it takes to read everything that is stored."""
        return await self._call("GET", "/integrity", timeout=httpx.Timeout(None, connect=CONNECT_WITHIN_SECONDS))

    async def get_metrics(self) -> str:
        """In the text format of Prometheus."""
        return (await self._send("GET", "/api/v1/metrics")).text

    async def stream_events(self, last_event_id: int | None = None) -> AsyncIterator[Json]:
        """What happens after that event, or from now on: its number as `id`, its kind as `event`, and its `data`.

        Ends when the engine stops or finds us too slow: come back with the last `id`.
        """
        headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
        async with self._stream("/events", headers=headers) as response:
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                    continue
                if "data" in fields:
                    yield {"id": int(fields["id"]), "event": fields["event"], "data": json.loads(fields["data"])}
                fields = {}
