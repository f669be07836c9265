"""README and tutorial, typed as they stand there by somebody who has nothing yet (D1)."""

from contextlib import ExitStack

import pytest
from tests.documentation.conftest import Reader
from tests.documentation.pages import read_steps


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_d1_every_command_of_the_page_works_and_answers_what_it_says(
    page: str, reader: Reader, stopping: ExitStack
) -> None:
    starting, *steps = read_steps(page)
    assert starting.commands == "make run\n"

    outputs = [reader.start(starting.commands.strip(), stopping), *reader.run(steps)]

    for step, output in zip([starting, *steps], outputs, strict=True):
        missing = step.find_missing(output)
        assert missing is None, f"{page} says that {missing!r} follows\n{step.commands}but this did:\n{output}"
