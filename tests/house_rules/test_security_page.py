"""A promise in SECURITY.md is worth what its proof is: every test and page that it names must be there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_names_a_proof_that_exists() -> None:
    promises = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What it does not promise")[0]
    numbered = re.split(r"^\d+\. ", promises, flags=re.MULTILINE)[1:]

    proofs = [re.findall(r"(?:tests|docs)/[\w/.]*\w", promise) for promise in numbered]

    assert len(numbered) >= 10
    assert all(proofs)
    assert [path for paths in proofs for path in paths if not (ROOT / path).exists()] == []
