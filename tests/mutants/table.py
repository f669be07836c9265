"""Ways to break what must not break, and the tests that are to notice each.

A test that has never failed proves little. Each mutant is a mistake that somebody could make: the text that stands in a
file now, exactly once, and what it becomes. The tests named with it must fail then.
"""

from dataclasses import dataclass

API, LISTENING = "src/kb/engine/api", "src/kb/listening.py"
STORAGE, EXTRACTION = "src/kb/engine/storage/sqlite", "src/kb/engine/ingestion/extraction"

API_ACCESS, MCP_ACCESS = "tests/api/test_access.py", "tests/mcp_server/test_access.py"
FILE_ROOTS, SANDBOX = "tests/mcp_server/test_file_roots.py", "tests/extraction/test_sandbox.py"


@dataclass(frozen=True)
class Mutant:
    name: str
    """The mistake, as a sentence."""
    file: str
    before: str
    after: str
    tests: str
    """What pytest is given; by its name, that of a single test."""


DATA = (
    Mutant(
        "A document is committed before its chunks are.",
        f"{STORAGE}/chunks.py",
        "    for ordinal, chunk in enumerate(text.chunks):\n",
        '    db.execute("COMMIT")\n    db.execute("BEGIN IMMEDIATE")\n'
        "    for ordinal, chunk in enumerate(text.chunks):\n",
        "tests/faults/test_write_calls.py",
    ),
    Mutant(
        "What failed half-way is committed.",
        f"{STORAGE}/database.py",
        '                if self._writer.in_transaction:\n                    self._writer.execute("ROLLBACK")\n',
        '                if self._writer.in_transaction:\n                    self._writer.execute("COMMIT")\n',
        "tests/unit/test_database.py tests/contract/test_jobs.py tests/contract/test_documents.py",
    ),
    Mutant(
        "A job is completed by a worker that has lost it.",
        f"{STORAGE}/claims.py",
        "    if holds is None:\n",
        "    if False:\n",
        "tests/contract/test_jobs.py",
    ),
    Mutant(
        "A chunk is not compared with its checksum.",
        f"{STORAGE}/integrity.py",
        "    if not is_whole:\n        found.add(DamageKind.CHUNK,",
        "    if False:\n        found.add(DamageKind.CHUNK,",
        "tests/contract/test_integrity.py",
    ),
    Mutant(
        "A scrub does not compare an original with its name.",
        "src/kb/engine/integrity.py",
        "[] if digest == used.name else",
        "[] if digest else",
        "tests/contract/test_integrity.py",
    ),
    Mutant(
        "A backup takes a damaged original for whole.",
        "src/kb/engine/originals.py",
        "    if digest.hexdigest() != name:\n",
        "    if False:\n",
        "tests/contract/test_backup.py",
    ),
    Mutant(
        "Words are not quoted for FTS5.",
        f"{STORAGE}/match_expression.py",
        """return '"' + space_out(text).replace('"', '""') + '"'""",
        "return space_out(text)",
        "tests/contract/test_search.py",
    ),
    Mutant(
        "The key of a filter stands in the SQL.",
        f"{STORAGE}/scope.py",
        'entry.key = ? AND {condition})")\n        values.extend([key, *needed])',
        "entry.key = '{key}' AND {condition})\")\n        values.extend(needed)",
        "tests/contract/test_search.py",
    ),
    Mutant(
        "A tag stands in the SQL.",
        f"{STORAGE}/scope.py",
        'WHERE name = ?)")\n        values.append(tag)',
        """WHERE name = '" + tag + "')")""",
        "tests/security/test_injection.py",
    ),
    Mutant(
        "What is deleted stays in free pages.",
        f"{STORAGE}/database.py",
        '("secure_delete", "on")',
        '("secure_delete", "off")',
        "tests/contract/test_sqlite_file.py",
    ),
    Mutant(
        "If-Match is ignored.",
        f"{API}/parameters.py",
        "return int(version[1]) if version else NO_VERSION",
        "return None",
        "tests/api/test_documents.py tests/api/test_notes.py",
    ),
    Mutant(
        "The Idempotency-Key is ignored.",
        f"{STORAGE}/jobs.py",
        "                if earlier is not None:\n",
        "                if False:\n",
        "tests/api/test_jobs.py",
    ),
)

ACCESS = (
    Mutant(
        "Any key opens.",
        LISTENING,
        "return matching[0] if matching else None",
        "return next(iter(self._digests))",
        API_ACCESS,
    ),
    Mutant(
        "The beginning of a key opens.",
        LISTENING,
        "hashlib.sha256(key).digest()",
        "hashlib.sha256(key[:3]).digest()",
        API_ACCESS,
    ),
    Mutant(
        "Of two keys in one request the first counts.",
        LISTENING,
        "if len(authorization) == 1 else",
        "if authorization else",
        MCP_ACCESS,
    ),
    Mutant(
        "The engine asks for no key.",
        f"{API}/guard.py",
        "if is_api and not self._keys.is_open:",
        "if False:",
        API_ACCESS,
    ),
    Mutant(
        "The MCP server asks for no key.",
        "src/kb/mcp/guard.py",
        "        if self._keys.is_open:\n",
        "        if True:\n",
        MCP_ACCESS,
    ),
    Mutant(
        "The MCP server asks no WebSocket for a key.",
        "src/kb/mcp/guard.py",
        "        if self._keys.is_open:\n",
        '        if self._keys.is_open or connection.scope["type"] == "websocket":\n',
        MCP_ACCESS,
    ),
    Mutant(
        "Any Host is ours.",
        LISTENING,
        "return len(hosts) == 1 and _without_port(hosts[0]) in self._hosts",
        "return True",
        API_ACCESS,
    ),
    Mutant(
        "A Host that begins like ours is ours.",
        LISTENING,
        "_without_port(hosts[0]) in self._hosts",
        "hosts[0].lower().startswith(tuple(self._hosts))",
        API_ACCESS,
    ),
    Mutant(
        "Any Origin may call.",
        LISTENING,
        "return all(self._is_known(origin.lower()) for origin in origins)",
        "return True",
        API_ACCESS,
    ),
    Mutant(
        "A page of another site may call if it sends no Origin.",
        LISTENING,
        'return not origins and (fetch_site or "").lower() in ("cross-site", "same-site")',
        "return False",
        API_ACCESS,
    ),
    Mutant(
        "The engine's reading key writes.",
        f"{API}/guard.py",
        'if known.can_write or scope["method"] in READING_METHODS or scope["path"] in READING_POSTS:',
        "if True:",
        API_ACCESS,
    ),
    Mutant(
        "The MCP server's reading key writes.",
        "src/kb/mcp/calling.py",
        "if not caller.can_write and tool.effect is not Effect.READS:",
        "if False:",
        MCP_ACCESS,
    ),
    Mutant(
        "A public address needs no key.",
        "src/kb/settings/programs.py",
        "if is_loopback(host) or key.get_secret_value() or insecure:",
        "if True:",
        "tests/unit/test_settings.py",
    ),
    Mutant(
        "A wrong key is logged.",
        "src/kb/mcp/guard.py",
        "            known = self._keys.recognise(key)\n",
        "            known = self._keys.recognise(key)\n"
        '            __import__("logging").getLogger(__name__).warning("Key %s", key)\n',
        MCP_ACCESS,
    ),
)

LIMITS = (
    Mutant(
        "Others on the machine may read what the engine keeps.",
        "src/kb/cli/commands/programs.py",
        "    os.umask(0o077)\n",
        "",
        "tests/security/test_file_modes.py",
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
        "return is_linux and refuse_system_calls()",
        "return is_linux",
        SANDBOX,
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
)

MUTANTS = (*DATA, *ACCESS, *LIMITS)
