"""One method for each route of the engine."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias
from urllib.parse import quote

import httpx

from kb.client.errors import EngineTooOld, NotAnEngine
from kb.client.sending import PIECE_BYTES, Form, NamedFile, OnBytes, build_form, open_file, read_pieces
from kb.version import VERSION, is_supported, version_in

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
Id: TypeAlias = int | str

CONNECT_WITHIN_SECONDS = 5.0
# The slowest answer is a note of a million characters, rewritten and embedded while its author waits.
ANSWER_WITHIN_SECONDS = 300.0
# httpx looks at each of them whenever a request begins or ends: with 64, that was most of what a request cost.
CONNECTIONS = 32
FIRST_POLL_SECONDS = 0.02
USUAL_POLL_SECONDS = 0.5
LONGEST_POLL_SECONDS = 5.0
BUNDLE_TYPE = "application/x-tar"
FINISHED = frozenset({"completed", "failed", "cancelled"})


class EngineClient:
    """To be used in `async with`, which closes its connections."""

    def __init__(self, base_url: str, api_key: str | None = None, *, timeout: float = ANSWER_WITHIN_SECONDS) -> None:
        headers = {"User-Agent": f"kb/{VERSION}"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_WITHIN_SECONDS)),
            # For a program with many callers of its own; the default would close all but 20 after each request.
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            # Loading the certificates of all authorities takes longer than a search, and http has a use for none.
            verify=httpx.URL(base_url).scheme == "https",
            # The engine is a local program: neither a proxy nor a .netrc of the machine concerns it.
            trust_env=False,
        )
        # Requests beyond that wait here, in order: a thousand in httpx's own queue keep each other from being sent.
        self._turn = asyncio.Semaphore(CONNECTIONS)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._http.aclose()

    async def require_supported_engine(self) -> None:
        """Raise `EngineTooOld` if the engine is older than `MIN_ENGINE_VERSION`, `NotAnEngine` if it is none.

        No other method asks. A program asks before its first change, and again when the engine may be another one.
        """
        version = version_in((await self._http.get("/health/live")).headers.get("Server", ""))
        try:
            # Before it told its version with every answer, the engine told it only here.
            version = version or str((await self.get_status())["version"])
        except (ValueError, LookupError, TypeError) as error:
            raise NotAnEngine(str(self._http.base_url)) from error
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
            raise NotAnEngine(str(self._http.base_url)) from error
        if not is_supported(version):
            raise EngineTooOld(version)

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
        body = _given(**note, source_path=source_path, metadata=metadata)
        return await self._call("POST", "/jobs", json=body, headers=_given(**{"Idempotency-Key": idempotency_key}))

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
        fields = _given(title=title, source_path=source_path, metadata=told, force_ocr=ocr).items()
        form = [*fields, *(("tags", tag) for tag in tags)]
        headers = _given(**{"Idempotency-Key": idempotency_key})
        if isinstance(file, tuple):
            return await self._send_form(await build_form(form, file, on_progress), headers)
        async with open_file(file) as opened:
            return await self._send_form(await build_form(form, (Path(file).name, opened), on_progress), headers)

    async def _send_form(self, form: Form, headers: Mapping[str, str]) -> Json:
        return await self._call("POST", "/jobs", content=form.content, headers={**headers, **form.headers})

    async def list_jobs(
        self, *, status: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Json:
        return await self._call("GET", "/jobs", params=_given(status=status, limit=limit, offset=offset))

    async def get_job(self, job_id: Id) -> Json:
        return await self._call("GET", f"/jobs/{_quote(job_id)}")

    async def cancel_job(self, job_id: Id, *, forget: bool = False) -> Json:
        return await self._call("POST", f"/jobs/{_quote(job_id)}/cancel", params=_given(forget=forget or None))

    async def retry_job(self, job_id: Id) -> Json:
        return await self._call("POST", f"/jobs/{_quote(job_id)}/retry")

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
        limits = _given(top=top, offset=offset, min_relevance=min_relevance, group_by=group_by)
        scope = _given(mode=mode, fts_only=fts_only, vec_only=vec_only, tags=[*tags], filters=filters)
        sought = _given(query=query, complete_last_word=complete_last_word)
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
        places = _given(source_path=source_path, source_folder=source_folder)
        scope = _given(tag=[*tags], doc_type=doc_type, format=format, q=q)
        page = _given(sort=sort, order=order, limit=limit, offset=offset)
        return await self._call("GET", "/documents", params={**places, **scope, **page})

    async def get_document(
        self, document_id: Id, *, chunks: bool = True, chunk_limit: int | None = None, chunk_offset: int | None = None
    ) -> Json:
        which = _given(chunks=None if chunks else False, chunk_limit=chunk_limit, chunk_offset=chunk_offset)
        return await self._call("GET", f"/documents/{_quote(document_id)}", params=which)

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
        change = _given(title=title, metadata=metadata, source_path=source_path)
        return await self._change("PATCH", f"/documents/{_quote(document_id)}", expected_version, change)

    async def get_document_file(self, document_id: Id) -> bytes:
        """The original as it was uploaded; of a note its text."""
        return (await self._send("GET", f"/api/v1/documents/{_quote(document_id)}/file")).content

    async def download_document_file(
        self, document_id: Id, destination: BinaryIO, *, on_progress: OnBytes | None = None
    ) -> None:
        """As `get_document_file`, but into `destination` as it arrives: memory stays flat."""
        await self._download(f"/documents/{_quote(document_id)}/file", destination, on_progress)

    async def get_document_page(
        self, document_id: Id, number: int, *, width: int | None = None, q: str = "", complete_last_word: bool = False
    ) -> bytes:
        """A page of a PDF or of a picture as a PNG, with the words of the query `q` marked."""
        path = f"/api/v1/documents/{_quote(document_id)}/pages/{number}.png"
        parameters = _given(width=width, q=q or None, complete_last_word=complete_last_word or None)
        return (await self._send("GET", path, params=parameters)).content

    async def delete_document(self, document_id: Id, *, expected_version: int | None = None) -> Json:
        return await self._change("DELETE", f"/documents/{_quote(document_id)}", expected_version)

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
        return await self._change("PATCH", f"/documents/{_quote(document_id)}/tags", expected_version, change)

    async def replace_tags(self, document_id: Id, tags: Iterable[str], *, expected_version: int | None = None) -> Json:
        path = f"/documents/{_quote(document_id)}/tags"
        return await self._change("PUT", path, expected_version, {"tags": [*tags]})

    async def add_tags(self, document_id: Id, tags: Iterable[str], *, expected_version: int | None = None) -> Json:
        path = f"/documents/{_quote(document_id)}/tags"
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
        change = _given(text=text, title=title, tags=None if tags is None else [*tags])
        return await self._change("PATCH", f"/notes/{_quote(document_id)}", expected_version, change)

    async def list_revisions(self, document_id: Id, *, limit: int | None = None, offset: int | None = None) -> Json:
        parameters = _given(limit=limit, offset=offset)
        return await self._call("GET", f"/notes/{_quote(document_id)}/revisions", params=parameters)

    async def revert_note(self, document_id: Id, version: int, *, expected_version: int | None = None) -> Json:
        path = f"/notes/{_quote(document_id)}/revert"
        return await self._change("POST", path, expected_version, {"version": version})

    async def list_audit_log(
        self, *, document_id: int | None = None, limit: int | None = None, offset: int | None = None
    ) -> Json:
        return await self._call("GET", "/audit", params=_given(document_id=document_id, limit=limit, offset=offset))

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

    async def list_tags(self) -> Json:
        return await self._call("GET", "/tags")

    async def get_map(self, *, limit: int | None = None) -> Json:
        return await self._call("GET", "/map", params=_given(limit=limit))

    async def get_status(self) -> Json:
        return await self._call("GET", "/status")

    async def is_live(self) -> Json:
        return self._read(await self._send("GET", "/health/live"))

    async def is_ready(self) -> Json:
        """Raises `httpx.HTTPStatusError` with 503 while it is not."""
        return self._read(await self._send("GET", "/health/ready"))

    async def check_integrity(self) -> Json:
        """Takes as long as it takes to read everything that is stored."""
        return await self._call("GET", "/integrity", timeout=httpx.Timeout(None, connect=CONNECT_WITHIN_SECONDS))

    async def get_metrics(self) -> str:
        """In the text format of Prometheus."""
        return (await self._send("GET", "/api/v1/metrics")).text

    async def events(self, last_event_id: int | None = None) -> AsyncIterator[Json]:
        """What happens after that event, or from now on: its number as `id`, its kind as `event`, and its `data`.

        Ends when the engine stops or finds us too slow: come back with the last `id`.
        """
        headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
        async with self._turn, self._http.stream("GET", "/api/v1/events", headers=headers) as response:
            if response.is_error:
                await response.aread()
            response.raise_for_status()
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                    continue
                if "data" in fields:
                    yield {"id": int(fields["id"]), "event": fields["event"], "data": json.loads(fields["data"])}
                fields = {}

    async def _change(self, method: str, path: str, expected: int | None, body: Json | None = None) -> Json:
        headers = {} if expected is None else {"If-Match": f'"{expected}"'}
        return await self._call(method, path, json=body, headers=headers)

    async def _call(self, method: str, path: str, **request: Any) -> Json:
        return self._read(await self._send(method, f"/api/v1{path}", **request))

    def _read(self, response: httpx.Response) -> Json:
        try:
            answer = response.json()
        # The second, for what is nested without an end.
        except (ValueError, RecursionError) as error:
            raise NotAnEngine(str(self._http.base_url)) from error
        if not isinstance(answer, dict):
            raise NotAnEngine(str(self._http.base_url))
        return answer

    async def _download(
        self, path: str, destination: BinaryIO, on_progress: OnBytes | None, media_type: str | None = None
    ) -> None:
        async with self._turn, self._http.stream("GET", f"/api/v1{path}") as response:
            if response.is_error:
                await response.aread()
            response.raise_for_status()
            if media_type and response.headers.get("Content-Type") != media_type:
                raise NotAnEngine(str(self._http.base_url))
            async for piece in response.aiter_bytes(PIECE_BYTES):
                await asyncio.to_thread(destination.write, piece)
                if on_progress is not None:
                    on_progress(len(piece))

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        async with self._turn:
            response = await self._http.request(method, path, **request)
        return response.raise_for_status()


def _given(**fields: Any) -> Json:
    """What the caller left out is left out of the request too: the engine has the defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def _quote(name: Id) -> str:
    # The engine reads %2F as a slash and so as the way to another route; no id has one, so it is sent as text.
    # Nor is any id made of dots, which would lead to another route as well.
    return quote(str(name).replace("/", "%2F"), safe="").replace(".", "%252E")
