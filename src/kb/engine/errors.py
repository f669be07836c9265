"""Everything that can go wrong in a way a caller can act on.

    KbError
    ├── InvalidRequest          change the request
    │   └── UnsupportedFormat
    ├── NotFound                look elsewhere
    │   ├── DocumentNotFound
    │   └── JobNotFound
    ├── Conflict                read again, decide, retry
    │   ├── VersionConflict
    │   ├── NotANote
    │   ├── JobFinished
    │   └── ConfirmationRequired
    ├── TooLarge                send less
    │   └── FileTooLarge
    ├── Unreadable              mend the file
    ├── TooManyRequests         let it work off some, then retry
    ├── Unavailable             wait and retry
    │   ├── TooBroad            use rarer words, or search by meaning
    │   ├── Unreachable         wait until the other server is back
    │   └── Damaged             restore a backup; docs/how-to/repair.md
    └── StorageFull             make room, then retry

Each carries a stable `code`, a sentence for a person and the `details` a program needs. None of them
knows HTTP: `api/errors.py` holds the one table of status codes. A job fails for good on the first five
kinds and is tried again on the last two and on anything unexpected; it never ends with the one between.
"""

from kb.sizes import BYTES_PER_MB


class KbError(Exception):
    code: str = "internal_error"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class InvalidRequest(KbError):
    code = "invalid_request"


class UnsupportedFormat(InvalidRequest):
    code = "unsupported_format"


class NotFound(KbError):
    code = "not_found"


class DocumentNotFound(NotFound):
    code = "document_not_found"

    def __init__(self, document_id: object) -> None:
        super().__init__(f"There is no document {document_id}.", document_id=str(document_id))


class JobNotFound(NotFound):
    code = "job_not_found"

    def __init__(self, job_id: object) -> None:
        super().__init__(f"There is no job {job_id}. Finished jobs are forgotten after 30 days.", job_id=str(job_id))


class Conflict(KbError):
    code = "conflict"


class VersionConflict(Conflict):
    code = "version_conflict"

    def __init__(self, current_version: int) -> None:
        super().__init__(
            f"The document has changed since you read it; it is now version {current_version}. "
            "Read it again and repeat your change.",
            current_version=current_version,
        )


class NotANote(Conflict):
    code = "not_a_note"


class JobFinished(Conflict):
    code = "job_finished"


class ConfirmationRequired(Conflict):
    code = "confirmation_required"


class TooLarge(KbError):
    code = "payload_too_large"


class FileTooLarge(TooLarge):
    code = "file_too_large"

    def __init__(self, max_file_bytes: int, *, found: str | None = None) -> None:
        """`found` says which file it is, to those who did not send it by itself."""
        max_size_mb = max_file_bytes // BYTES_PER_MB
        limit = f"largest accepted file is {max_size_mb} MB (KB_MAX_FILE_MB)."
        super().__init__(f"The {limit}" if found is None else f"{found}; the {limit}", max_size_mb=max_size_mb)


class Unreadable(KbError):
    """A file that cannot become text. Its code is one of the stable ones of I5."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class TooManyRequests(KbError):
    code = "too_many_requests"


class Unavailable(KbError):
    code = "unavailable"


class TooBroad(Unavailable):
    """A search by keyword was given up because it took too long."""


class Unreachable(Unavailable):
    """A server that keeps things for kb does not answer, or does not let it in. A job waits until it does."""


class Damaged(Unavailable):
    """What is stored is no longer what was stored there."""


class StorageFull(KbError):
    code = "storage_full"
