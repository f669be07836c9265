"""Routes of jobs: submit work, watch it, cancel it, try it again."""

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from kb.engine import documents
from kb.engine.api.answers import JobAnswer, JobsAnswer
from kb.engine.api.bodies import FileFields, NoteBody
from kb.engine.api.guard import media_type_of
from kb.engine.api.large_answers import read_in_turn, render_page
from kb.engine.api.parameters import EngineDep, Limit, Offset, RefDep
from kb.engine.api.uploads import UploadForm, receive_form
from kb.engine.errors import InvalidRequest
from kb.engine.ingestion.extraction.detection import detect_format
from kb.engine.model import FileSubmission, Job, JobStatus, NoteSubmission, filename_in
from kb.engine.originals import IncomingFile, translated_errors
from kb.engine.wiring import Engine

router = APIRouter(tags=["jobs"])

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="Repeating a request with the same key returns the first one's job instead of a second.",
    ),
]
Forget = Annotated[
    bool,
    Query(
        description="Forget at once what the job was given, all but the file's name; it cannot be retried then. A job "
        "that has failed, or is cancelled already, forgets it as well.",
    ),
]

SUBMISSION_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/NoteBody"}},
            "multipart/form-data": {"schema": {"$ref": "#/components/schemas/FileFields"}},
        },
    }
}


@router.post("/jobs", status_code=202, openapi_extra=SUBMISSION_BODY)
async def submit_job(
    engine: EngineDep, request: Request, response: Response, idempotency_key: IdempotencyKey = None
) -> JobAnswer:
    content_type = request.headers.get("content-type", "")
    media_type = media_type_of(request.headers)
    if media_type == "application/json":
        job = await run_in_threadpool(_queue_note, engine, await request.body(), idempotency_key)
    elif media_type == "multipart/form-data":
        job = await _submit_file(engine, request, content_type, idempotency_key)
    else:
        raise InvalidRequest("Send a note as application/json, or a file as multipart/form-data.")
    engine.wake_worker()
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return JobAnswer.of(job, engine.clock())


def _queue_note(engine: Engine, body: bytes, idempotency_key: str | None) -> Job:
    try:
        note = NoteBody.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(_in_body(error)) from error
    submission = NoteSubmission(note.text, note.title, tuple(note.tags), note.source_path, note.metadata)
    return engine.store.add_job(
        submission,
        idempotency_key=idempotency_key,
        max_queued=engine.options.max_queued_jobs,
        now=engine.clock(),
    )


async def _submit_file(engine: Engine, request: Request, content_type: str, idempotency_key: str | None) -> Job:
    if idempotency_key is None:
        # Decided when it is queued; here it saves the upload. What was queued before under a key is never refused.
        await run_in_threadpool(engine.store.require_room, FileSubmission, max_queued=engine.options.max_queued_jobs)
    with engine.originals.receive() as incoming:
        form = await receive_form(
            content_type, request.stream(), incoming, max_file_bytes=engine.options.max_file_bytes
        )
        return await run_in_threadpool(_queue_file, engine, incoming, form, idempotency_key)


def _queue_file(engine: Engine, incoming: IncomingFile, form: UploadForm, idempotency_key: str | None) -> Job:
    fields = _parse_fields(form)
    filename = filename_in(form.filename or "")
    if incoming.size_bytes == 0:
        raise InvalidRequest(f"The file {filename} is empty.")
    original = incoming.finish()
    with translated_errors():
        format = detect_format(filename, incoming.path)
    submission = FileSubmission(
        original=original,
        filename=filename,
        format=format,
        size_bytes=incoming.size_bytes,
        title=fields.title,
        tags=tuple(fields.tags),
        source_path=fields.source_path,
        metadata=fields.metadata,
        force_ocr=fields.force_ocr,
    )
    return documents.submit_file(
        engine.store,
        engine.originals,
        incoming,
        submission,
        idempotency_key=idempotency_key,
        max_queued=engine.options.max_queued_jobs,
        now=engine.clock(),
    )


def _parse_fields(form: UploadForm) -> FileFields:
    """A form has only text, so what is meant as JSON is read as JSON."""
    values: dict[str, Any] = {}
    for name, given in form.fields.items():
        if name == "tags":
            values[name] = given
        elif len(given) > 1:
            raise InvalidRequest(f"The field {name} is given more than once.")
        else:
            values[name] = given[0]
    if "metadata" in values:
        try:
            values["metadata"] = json.loads(values["metadata"])
        except (ValueError, RecursionError) as error:
            raise InvalidRequest("The field metadata is not JSON.") from error
    if "force_ocr" in values:
        values["force_ocr"] = {"true": True, "false": False}.get(values["force_ocr"].lower(), values["force_ocr"])
    try:
        return FileFields.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError(_in_body(error)) from error


def _in_body(error: ValidationError) -> list[dict[str, Any]]:
    return [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False, include_input=False)]


@router.get("/jobs", response_model=JobsAnswer)
async def list_jobs(
    request: Request, engine: EngineDep, status: JobStatus | None = None, limit: Limit = 100, offset: Offset = 0
) -> Response:
    def read() -> Response:
        now = engine.clock()
        page = engine.store.list_jobs(status=status, limit=limit, offset=offset)
        return render_page("jobs", page, lambda job: _render_job(job, now), limit=limit, offset=offset)

    return await read_in_turn(request, read)


def _render_job(job: Job, now: datetime) -> bytes:
    return JobAnswer.of(job, now).model_dump_json().encode()


@router.get("/jobs/{id}")
def get_job(engine: EngineDep, ref: RefDep) -> JobAnswer:
    return JobAnswer.of(engine.store.get_job(ref), engine.clock())


@router.post("/jobs/{id}/cancel")
def cancel_job(engine: EngineDep, ref: RefDep, *, forget: Forget = False) -> JobAnswer:
    now = engine.clock()
    if not forget:
        return JobAnswer.of(engine.store.cancel_job(ref, now=now), now)
    forgotten = engine.reserve.delete(lambda: documents.forget_job(engine.store, engine.originals, ref, now=now))
    return JobAnswer.of(forgotten, now)


@router.post("/jobs/{id}/retry")
def retry_job(engine: EngineDep, ref: RefDep) -> JobAnswer:
    now = engine.clock()
    job = engine.store.retry_job(ref, now=now)
    engine.wake_worker()
    return JobAnswer.of(job, now)
