"""The mutants of `make mutants` must stay mutants of the code as it is."""

import ast
from pathlib import Path

import pytest
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_breaks_one_place_of_the_code_and_names_tests_that_exist(mutant: Mutant) -> None:
    code = (ROOT / mutant.file).read_text(encoding="utf-8")

    assert code.count(mutant.before) == 1
    assert ast.dump(ast.parse(code)) != ast.dump(ast.parse(code.replace(mutant.before, mutant.after)))
    for file, _, name in (test.partition("::") for test in mutant.tests.split()):
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8") if name else (ROOT / file).exists()


def test_no_two_mutants_have_the_same_name() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
