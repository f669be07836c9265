"""Mistakes by which somebody gets in, or gets to know what opens."""

from tests.mutants.mutant import Mutant

API, SHARED = "src/kb/engine/api", "src/kb/access.py"
API_ACCESS, MCP_ACCESS = "tests/api/test_access.py", "tests/mcp_server/test_access.py"

ACCESS = (
    Mutant(
        "Any key opens.",
        SHARED,
        "return matching[0] if matching else None",
        "return next(iter(self._digests))",
        API_ACCESS,
    ),
    Mutant(
        "The beginning of a key opens.",
        SHARED,
        "hashlib.sha256(key).digest()",
        "hashlib.sha256(key[:3]).digest()",
        API_ACCESS,
    ),
    Mutant(
        "Of two keys in one request the first counts.",
        SHARED,
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
        SHARED,
        "return len(hosts) == 1 and _without_port(hosts[0]) in self._hosts",
        "return True",
        API_ACCESS,
    ),
    Mutant(
        "A Host that begins like ours is ours.",
        SHARED,
        "_without_port(hosts[0]) in self._hosts",
        "hosts[0].lower().startswith(tuple(self._hosts))",
        API_ACCESS,
    ),
    Mutant(
        "Any Origin may call.",
        SHARED,
        "        return origins <= {own_origin} and not",
        "        return not",
        API_ACCESS,
    ),
    Mutant(
        "A page of another site may call if it sends no Origin.",
        SHARED,
        '    return not sites <= {"same-origin"}',
        "    return False",
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
    Mutant(
        "The present key counts as a former one.",
        SHARED,
        "enumerate(writing, 1)",
        "enumerate(writing, 2)",
        "tests/unit/test_keys.py",
    ),
    Mutant(
        "A page in a sandbox may call.",
        SHARED,
        "return origins <= {own_origin}",
        'return origins <= {own_origin, "null"}',
        "tests/security/test_web_pages.py::test_no_page_gets_at_a_program",
    ),
    Mutant(
        "The reading key of an agent cancels tasks.",
        "src/kb/mcp/server.py",
        "        if not _caller_of(context).can_write:\n",
        "        if False:\n",
        "tests/security/test_reading_keys.py::test_no_other_method_changes_anything_for_a_reading_agent",
    ),
    Mutant(
        "Children inherit the keys.",
        "src/kb/child.py",
        ' if not name.startswith("KB_")}',
        "}",
        "tests/security/test_secrets.py::test_whatever_goes_wrong_no_secret_gets_out",
    ),
)
