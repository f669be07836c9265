"""Why a command could not do what it was asked to, and what to do next."""

import traceback
from pathlib import Path

NO_TEXT = "There is no text. Give it as an argument, or give `-` and pipe it in."
NOT_UTF8 = "Standard input is not UTF-8 text. Convert it, or add it as a file with `kb add`."
STOPPED = "Stopped."
QUEUE_IS_FULL = "The engine's queue is full. Waiting until it has done some of its jobs ..."
ENGINE_IS_AWAY = "The engine does not answer. Waiting for it to come back ..."
HOW_TO_UPDATE = (
    "Where it runs, stop it, install the version of this client, and start it again with `kb up`; in containers, run "
    "`docker compose up --detach --build` with the newer sources. It brings its data up to date by itself."
)
# An error of kb itself shows where it was raised. All frames of a deep recursion would fill the screen.
MOST_FRAMES = 5
_KB = Path(__file__).parents[2]
_ADVICE = {
    "unauthorized": "Set KB_API_KEY (or KB_API_KEY_FILE) to the engine's key.",
    "forbidden": "Set KB_API_KEY (or KB_API_KEY_FILE) to a key that can write.",
    "document_not_found": "`kb search` shows the numbers of documents.",
    "job_not_found": "`kb jobs` lists those there are.",
    "not_a_note": "Change the file and add it again with `kb add`.",
    "version_conflict": "`kb get` shows it.",
    "too_many_requests": "`kb jobs` shows what it is doing. Try again when some of that is done.",
    "unavailable": "Try again in a moment; `kb status` tells how the engine is.",
    "storage_full": "Free some space on the engine's disk, or delete documents with `kb delete`; then try again.",
}


def engine_is_unreachable(url: str) -> str:
    return f"There is no engine at {url}. Start one with `kb up`, or set KB_ENGINE_URL to where it runs."


def engine_is_silent(url: str) -> str:
    return f"The engine at {url} does not answer. Look at its log, or try again later."


def not_an_engine(url: str) -> str:
    return f"What answers at {url.rstrip('/')} is not a kb engine. Set KB_ENGINE_URL to where the engine runs."


def unusable_answer(url: str, error: Exception) -> str:
    """The message names the lines of kb that led to the error, for a report: the error may be a bug of kb.

    The text of the error itself is left out, because it may quote the answer.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_KB)]
    way = ", ".join(f"{Path(frame.filename).name} line {frame.lineno}" for frame in reversed(frames[-MOST_FRAMES:]))
    return (
        f"The answer of the engine at {url} cannot be used ({type(error).__name__} at {way}). Compare the two versions "
        "that `kb version` shows. If they are the same, report this."
    )


def advise(code: str) -> str:
    """What to do next, where the engine cannot know that it speaks to somebody at a command line."""
    return _ADVICE.get(code, "")


def cannot_be_read(error: OSError) -> str:
    return f"It cannot be read: {error.strerror}."
