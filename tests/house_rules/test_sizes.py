import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "evaluation", "bench", "docs", "deploy")
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60


def files(*suffixes: str) -> list[Path]:
    return sorted(path for folder in FOLDERS for suffix in suffixes for path in (ROOT / folder).rglob(f"*{suffix}"))


def python_files() -> list[Path]:
    return files(".py")


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_no_module_is_too_long_to_hold_in_mind() -> None:
    lengths = {path: len(path.read_bytes().splitlines()) for path in files(".py", ".js", ".css")}

    too_long = [
        f"{path.relative_to(ROOT)} has {lines} lines" for path, lines in lengths.items() if lines > MAX_MODULE_LINES
    ]

    assert not too_long, f"Split by subject; {MAX_MODULE_LINES} lines are the most: {too_long}"


def test_no_function_is_too_long_to_read_at_once() -> None:
    functions = [(path, function) for path in python_files() for function in functions_of(path)]

    too_long = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name} has {length_of(function)} lines"
        for path, function in functions
        if length_of(function) > MAX_FUNCTION_LINES
    ]

    assert not too_long, f"Let it say one thing; {MAX_FUNCTION_LINES} lines are the most: {too_long}"
