"""The engine's HTTP API as a Python class; the command line, the MCP server and scripts alike use it.

    async with EngineClient("http://127.0.0.1:8000", api_key) as engine:
        job = await engine.submit_note("The spare key is under the flower pot.", tags=["home"])
        await engine.wait_for_job(job["id"])
        answer = await engine.search("where is the key?")

There is one method a route. It returns the engine's JSON as it is and raises `httpx.HTTPStatusError` for every
answer that is not a success; the problem's `code` and `detail` are in the JSON of `error.response`. Documents
and jobs are named by their integer id or by their UUID. With `expected_version` a change is made only to that
version of the document; else it is refused with 412.
"""

from kb.client.calling import Json
from kb.client.engine import CONFIRMATION_PHRASE, FINISHED, EngineClient
from kb.client.errors import EngineTooOld, FileChanged, NotAnEngine
from kb.client.paging import read_all
from kb.client.sending import NamedFile

__all__ = [
    "CONFIRMATION_PHRASE",
    "FINISHED",
    "EngineClient",
    "EngineTooOld",
    "FileChanged",
    "Json",
    "NamedFile",
    "NotAnEngine",
    "read_all",
]
