from tests.faults.conftest import strace, tell

__all__ = ["strace", "tell"]
