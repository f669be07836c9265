"""Ways to break what must not break, and the tests that are to notice each.

A test that has never failed proves little. Each mutant is a mistake that somebody could make: the text that stands in a
file now, exactly once, and what it becomes. The tests named with it must fail then.
"""

from tests.mutants.access import ACCESS
from tests.mutants.limits import LIMITS
from tests.mutants.storage import STORAGE

MUTANTS = (*STORAGE, *ACCESS, *LIMITS)
