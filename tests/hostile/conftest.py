from tests.faults.conftest import strace as strace
