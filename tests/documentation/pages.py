"""The code blocks of a page: what a reader types, and what the page says that it answers."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
STANDS_FOR_ANYTHING = "…"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Step:
    commands: str
    answer: str
    """Lines that appear in this order, among others; empty if the page shows none."""

    def find_missing(self, output: str) -> str | None:
        """The first line of the answer that the output does not have."""
        rest = [line.rstrip() for line in output.splitlines()]
        for line in filter(None, self.answer.splitlines()):
            pattern = ".*".join(map(re.escape, line.split(STANDS_FOR_ANYTHING)))
            place = next((number for number, told in enumerate(rest) if re.search(pattern, told)), None)
            if place is None:
                return line
            rest = rest[place + 1 :]
        return None


def read_steps(page: str) -> list[Step]:
    """Every block of the page: of commands (`sh`), and of what they answer (`text`) if that comes next."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    # Whatever else a reader would see as a block is one that nobody runs.
    others = re.findall(r"^.*(?:```|~~~).*$|^(?: {4}|\t).*$", BLOCK.sub("", text), re.MULTILINE)
    assert not others, f"{page} has blocks that no test reads: {others}"
    unknown = {language for language, _ in blocks} - {"sh", "text"}
    assert not unknown, f"{page} has blocks that no test runs: {unknown}"
    steps: list[Step] = []
    for language, block in blocks:
        if language == "sh":
            steps.append(Step(block, ""))
        else:
            assert steps, f"{page} shows an answer before anything was asked: {block}"
            assert not steps[-1].answer, f"{page} shows two answers to {steps[-1].commands}"
            steps[-1] = Step(steps[-1].commands, block)
    return steps
