"""What docs/how-to/troubleshoot.md quotes is what the programs say: each message still stands in the code."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/troubleshoot.md").read_text(encoding="utf-8")


@cache
def said_by_the_code() -> list[str]:
    """Every text in it; where a value is put in, an ellipsis stands."""
    modules = (path.read_text(encoding="utf-8") for path in (ROOT / "src/kb").rglob("*.py"))
    nodes = (node for module in modules for node in ast.walk(ast.parse(module)))
    return [text for node in nodes if (text := render(node)) is not None]


def render(node: ast.AST) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(render(part) or "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_every_message_that_is_quoted_is_one_that_a_program_prints() -> None:
    quoted = re.findall(r"^> (.+)$", PAGE, re.MULTILINE)
    issues = re.findall(r"^\| ([A-Z…][^|]+\.) \|", PAGE, re.MULTILINE)
    said = said_by_the_code()

    gone = [message for message in quoted + issues if not any(message in text for text in said)]

    assert len(quoted) > 25
    assert len(issues) >= 6
    assert gone == []


def test_every_code_of_a_failed_job_in_the_table_is_one_that_there_is() -> None:
    table = PAGE.partition("## A file ends as a failed job")[2].partition("\n## ")[0]
    codes = [code for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for code in re.findall(r"`(\w+)`", row)]
    said = set(said_by_the_code())

    assert len(codes) > 8
    assert [code for code in codes if code not in said] == []
