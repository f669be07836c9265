"""Mistakes by which something stored is lost, half there, or somebody else's."""

from tests.mutants.mutant import Mutant

API = "src/kb/engine/api"
SQLITE, TABLES = "src/kb/engine/storage/sqlite", "src/kb/engine/storage/tables"

STORAGE = (
    Mutant(
        "A document is committed before its chunks are.",
        f"{SQLITE}/connection.py",
        "        for ordinal, chunk in enumerate(chunks):\n",
        '        self.execute("COMMIT")\n        self.execute("BEGIN IMMEDIATE")\n'
        "        for ordinal, chunk in enumerate(chunks):\n",
        "tests/faults/test_write_calls.py",
    ),
    Mutant(
        "What failed half-way is committed.",
        f"{SQLITE}/database.py",
        '                if self._writer.in_transaction:\n                    self._writer.execute("ROLLBACK")\n',
        '                if self._writer.in_transaction:\n                    self._writer.execute("COMMIT")\n',
        "tests/unit/test_database.py tests/contract/test_jobs.py tests/contract/test_documents.py",
    ),
    Mutant(
        "The log of the database grows for as long as somebody reads.",
        f"{SQLITE}/database.py",
        "            self._bound_log()\n",
        "",
        "tests/unit/test_database.py",
    ),
    Mutant(
        "A job is completed by a worker that has lost it.",
        f"{TABLES}/claims.py",
        "    if holds is None:\n",
        "    if False:\n",
        "tests/contract/test_jobs.py",
    ),
    Mutant(
        "A chunk is not compared with its checksum.",
        f"{SQLITE}/integrity.py",
        "    if not is_whole:\n        found.add(DamageKind.CHUNK,",
        "    if False:\n        found.add(DamageKind.CHUNK,",
        "tests/contract/sqlite/test_integrity.py",
    ),
    Mutant(
        "A scrub does not compare an original with its name.",
        "src/kb/engine/originals/folder.py",
        "        if digest != name:\n",
        "        if False:\n",
        "tests/contract/sqlite/test_integrity.py",
    ),
    Mutant(
        "A deletion takes copies on S3 that were written just now.",
        "src/kb/engine/originals/bucket.py",
        'if copy["last_modified"] <= old]',
        "if copy]",
        "tests/contract/test_originals_on_s3.py",
    ),
    Mutant(
        "An upload counts on a copy on S3 that is there already.",
        "src/kb/engine/originals/bucket.py",
        """        with translated_errors():
            obstore.put(
                self._store,
                self._name_copy(name),""",
        """        with translated_errors():
            for _ in self._list_copies(name):
                return
            obstore.put(
                self._store,
                self._name_copy(name),""",
        "tests/contract/test_originals_on_s3.py",
    ),
    Mutant(
        "A backup takes a damaged original for whole.",
        "src/kb/engine/originals/disk.py",
        "    if digest.hexdigest() != name:\n",
        "    if False:\n",
        "tests/contract/sqlite/test_backup.py",
    ),
    Mutant(
        "Words are not quoted for FTS5.",
        f"{SQLITE}/match_expression.py",
        """return '"' + space_out(text).replace('"', '""') + '"'""",
        "return space_out(text)",
        "tests/contract/test_search.py",
    ),
    Mutant(
        "The key of a filter stands in the SQL.",
        f"{SQLITE}/connection.py",
        'entry.key = ? AND {condition})", [key, *needed]',
        "entry.key = '{key}' AND {condition})\", needed",
        "tests/contract/test_scopes.py",
    ),
    Mutant(
        "A tag stands in the SQL.",
        f"{TABLES}/scope.py",
        'WHERE name = ?)")\n        values.append(tag)',
        """WHERE name = '" + tag + "')")""",
        "tests/security/test_injection.py",
    ),
    Mutant(
        "What is deleted stays in free pages.",
        f"{SQLITE}/database.py",
        '("secure_delete", "on")',
        '("secure_delete", "off")',
        "tests/contract/sqlite/test_sqlite_file.py",
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
        f"{TABLES}/jobs.py",
        "                if earlier is not None:\n",
        "                if False:\n",
        "tests/api/test_jobs.py",
    ),
)
