"""What goes wrong before or beside an answer of the engine."""

import errno

from kb.version import MIN_ENGINE_VERSION, VERSION


class EngineTooOld(Exception):
    def __init__(self, engine_version: str) -> None:
        super().__init__(
            f"The engine is version {engine_version}, and this client ({VERSION}) needs {MIN_ENGINE_VERSION} "
            "or newer. Update the engine."
        )
        self.engine_version = engine_version


class NotAnEngine(Exception):
    def __init__(self, url: str) -> None:
        super().__init__(f"What answers at {url} is not a kb engine.")


class FileChanged(OSError):
    """The file has become shorter while it was sent; the engine has thrown away what it got of it."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "it became shorter while it was being sent")
