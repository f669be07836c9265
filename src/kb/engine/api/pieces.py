"""An answer that is read from somewhere while it is sent."""

from collections.abc import Generator, Mapping
from itertools import chain

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class PiecesResponse(StreamingResponse):
    """Ends its generator in any case, also when the client leaves in the middle.

    What that holds open, a file or a view of the base, would otherwise stay until Python tidies up. The first piece
    is read at once: what goes wrong before it can still be told as a problem.
    """

    def __init__(self, pieces: Generator[bytes], media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(chain([next(pieces, b"")], pieces), media_type=media_type, headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._pieces.close)
