"""The page's sheets are all loaded at once: what two of them say of one class holds in both places."""

import re
from collections import defaultdict
from pathlib import Path

SHEETS = Path(__file__).parents[2] / "src/kb/engine/web/style"


def test_each_class_is_described_by_one_sheet() -> None:
    sheets = defaultdict(set)
    for sheet in SHEETS.glob("*.css"):
        rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        for selectors in re.findall(r"([^{}]+)\{", rules):
            for selector in selectors.split(","):
                if alone := re.fullmatch(r"\s*\.([\w-]+)(?::[\w-]+)?\s*", selector):
                    sheets[alone[1]].add(sheet.name)

    assert {name: found for name, found in sheets.items() if len(found) > 1} == {}
