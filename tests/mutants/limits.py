"""Mistakes by which a client or a file gets more than its share, or further than it should."""

from tests.mutants.mutant import Mutant

API, SERVING = "src/kb/engine/api", "src/kb/serving"
EXTRACTION = "src/kb/engine/ingestion/extraction"
CONFINEMENT = "tests/extraction/test_confinement.py"
FILE_ROOTS, SANDBOX = "tests/mcp_server/test_file_roots.py", "tests/extraction/test_sandbox.py"

LIMITS = (
    Mutant(
        "Others on the machine may read what the engine keeps.",
        "src/kb/cli/program_options.py",
        "    os.umask(0o077)\n",
        "",
        "tests/security/test_file_modes.py",
    ),
    Mutant(
        "A row may name any file as its original.",
        "src/kb/engine/model/hashes.py",
        "_NAME_OF_ORIGINAL.fullmatch(name) is not None",
        "bool(name)",
        "tests/contract/test_forged_names.py tests/contract/test_originals.py",
    ),
    Mutant(
        "A base may bring triggers of others.",
        "src/kb/engine/storage/sqlite/migrations.py",
        "            refuse_foreign_schema(db, version)\n",
        "            pass\n",
        "tests/contract/sqlite/test_foreign_schema.py",
    ),
    Mutant(
        "A body may be as long as it says.",
        f"{API}/guard.py",
        "if LENGTH.fullmatch(length) and int(length) <= self._max_bytes(scope, headers):",
        "if True:",
        "tests/api/test_errors.py tests/api/test_uploads.py",
    ),
    Mutant(
        "A body that does not tell its length has no end.",
        f"{API}/guard.py",
        '            left -= len(message.get("body", b""))\n',
        "",
        "tests/api/test_errors.py tests/api/test_uploads.py",
    ),
    Mutant(
        "A download is opened by the browser.",
        f"{API}/documents.py",
        'f"attachment; filename*=',
        'f"inline; filename*=',
        "tests/api/test_documents.py",
    ),
    Mutant(
        "Results do not say that stored text is no instruction.",
        "src/kb/mcp/server.py",
        '"_meta": {**STORED_TEXT_MARK}, "resultType"',
        '"resultType"',
        "tests/security/test_untrusted_text.py",
    ),
    Mutant(
        "An agent may have any file read.",
        "src/kb/mcp/file_roots.py",
        "return path.is_relative_to(root) and not any(map(_is_hidden, path.relative_to(root).parts))",
        "return True",
        FILE_ROOTS,
    ),
    Mutant(
        "A link may come into a path that was checked.",
        "src/kb/mcp/file_roots.py",
        "_READ_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW |",
        "_READ_FILE = os.O_RDONLY | os.O_NONBLOCK |",
        f"{FILE_ROOTS} tests/mcp_server/test_file_races.py",
    ),
    Mutant(
        "An upload can be finished by another key.",
        "src/kb/mcp/uploads.py",
        "if upload is None or upload.owner != owner or",
        "if upload is None or",
        "tests/mcp_server/test_uploads.py",
    ),
    Mutant(
        "The reader of files is not kept from system calls.",
        f"{EXTRACTION}/confinement.py",
        "return is_linux and refuse_system_calls(but_threads=starts_threads)",
        "return is_linux",
        CONFINEMENT,
    ),
    Mutant(
        "The reader of files can open any file.",
        f"{EXTRACTION}/confinement.py",
        "        open_nothing_but([str(file), *_find_libraries(file)])\n",
        "",
        CONFINEMENT,
    ),
    Mutant(
        "The reader of files may take any memory.",
        f"{EXTRACTION}/confinement.py",
        "    _limit(resource.RLIMIT_AS, memory_bytes)\n",
        "",
        SANDBOX,
    ),
    Mutant(
        "A line break in a name makes a second line in the log.",
        "src/kb/logs.py",
        r'f"\\x{ord(found[0]):02x}"',
        "found[0]",
        "tests/unit/test_logs.py",
    ),
    Mutant(
        "A body may come as slowly as it likes.",
        f"{SERVING}/patience.py",
        "return self._is_silent or self._is_too_slow",
        "return self._is_silent",
        "tests/unit/test_patience.py",
    ),
    Mutant(
        "A client that has gone silent is waited for.",
        f"{SERVING}/patience.py",
        "return self._silent_seconds > self._limits.silence_seconds",
        "return False",
        "tests/unit/test_patience.py",
    ),
    Mutant(
        "No connection gives way to a new one.",
        f"{SERVING}/connections.py",
        "        if len(others) < self.config.limits.connections:\n",
        "        if True:\n",
        "tests/security/test_connections.py::test_the_connection_without_a_request_for_the_longest_time_gives_way",
    ),
    Mutant(
        "A body may have a hundred times as many values.",
        f"{SERVING}/held_bodies.py",
        "MAX_VALUES = 1_100_000\n",
        "MAX_VALUES = 110_000_000\n",
        "tests/unit/test_held_bodies.py",
    ),
    Mutant(
        "A backslash in a name is no part of a path.",
        "src/kb/engine/model/naming.py",
        "PureWindowsPath(path).name",
        'path.rpartition("/")[2]',
        "tests/security/test_names.py::test_name_loses_only_control_characters_and_folders",
    ),
    Mutant(
        "A title is brought into another normal form.",
        f"{API}/bodies.py",
        "max_length=MAX_GIVEN_TITLE_CHARACTERS, pattern=NOT_BLANK), Shown]",
        "max_length=MAX_GIVEN_TITLE_CHARACTERS, pattern=NOT_BLANK), Shown, "
        'AfterValidator(lambda title: __import__("unicodedata").normalize("NFKC", title))]',
        "tests/security/test_naughty_strings.py::test_what_is_accepted_comes_back_as_it_was_and_can_be_deleted",
    ),
    Mutant(
        "A download that is shown all the same is in no sandbox.",
        f"{API}/documents.py",
        '"sandbox; default-src',
        '"default-src',
        "tests/security/test_stored_payloads.py::test_e13_no_stored_byte_is_ever_more_than_a_download",
    ),
)
