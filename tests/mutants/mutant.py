from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    """The mistake, as a sentence."""
    file: str
    before: str
    after: str
    tests: str
    """What pytest is given; by its name, that of a single test."""
