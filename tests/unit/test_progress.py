from collections.abc import Iterator

from kb.engine.ingestion.extraction.workload import STEPS_PER_PICTURE, Workload
from kb.engine.ingestion.progress import Course
from kb.engine.ingestion.sections import Section
from kb.engine.model import Progress


class Told:
    """Takes down what is reported, and which of it at once."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []
        self.at_once: list[str] = []

    def __call__(self, progress: Progress, *, at_once: bool = False) -> None:
        self.progress.append(progress)
        if at_once:
            self.at_once.append(progress.message)


def test_each_part_is_told_of_before_it_is_waited_for_and_the_last_one_at_once() -> None:
    """I4"""
    told = Told()
    course = Course(told, "a.pdf")
    waited_for = []

    def read() -> list[list[Section]]:
        return [[], [], []]

    for _ in course.follow(read(), unit="page", workload=Workload(3)):
        waited_for.append(told.progress[-1].message)
    course.save(5)

    assert waited_for == [f"Processing page {number} of 3" for number in (1, 2, 3)]
    assert told.at_once == ["Processing page 3 of 3"]
    assert told.progress[0].message == "Reading a.pdf"
    assert told.progress[-1] == Progress("Saving", 3, 4, "Processing page 3 of 3")


def test_of_several_parts_only_the_parts_are_told_of() -> None:
    told = Told()
    course = Course(told, "a.pdf")
    parts = course.follow([[], []], unit="slide", workload=Workload(2))

    next(parts)
    course.embed(0, 32)
    list(parts)
    course.embed(32, 40)

    assert [progress.message for progress in told.progress[1:]] == [
        "Processing slide 1 of 2",
        "Processing slide 1 of 2",
        "Processing slide 2 of 2",
        "Processing slide 2 of 2",
    ]
    assert told.progress[-1].step == "Generating embeddings"


def test_a_document_of_one_part_tells_of_its_chunks() -> None:
    """E6"""
    told = Told()
    course = Course(told, "a.txt")

    for _ in course.follow([[]], unit="page", workload=Workload(1)):
        course.embed(0, 0)
        for embedded in (0, 32, 64):
            course.embed(embedded, 70)
    course.save(70)

    assert [progress.message for progress in told.progress] == [
        "Reading a.txt",
        "Reading a.txt",
        "Embedding chunk 1 of 70",
        "Embedding chunk 33 of 70",
        "Embedding chunk 65 of 70",
        "Saving 70 chunks",
    ]
    fractions = [progress.fraction for progress in told.progress]
    assert fractions == sorted(fractions)
    assert fractions[-1] < 1


def test_a_page_that_is_a_picture_is_as_many_steps_as_it_takes_pages_of_text_in_the_same_time() -> None:
    """I4"""
    told = Told()
    workload = Workload(3)

    def read() -> Iterator[list[Section]]:
        for pictures in (0, 0, 1):
            workload.add(pictures=pictures)
        for _ in range(3):
            workload.finish()
            yield []

    list(Course(told, "a.pdf").follow(read(), unit="page", workload=workload))

    assert [progress.completed_steps for progress in told.progress] == [0, 0, 1, 2]
    assert told.progress[-1].total_steps == 2 + (1 + STEPS_PER_PICTURE) + 1


def test_pages_that_nobody_has_looked_at_yet_are_taken_for_such_as_are_known() -> None:
    """I4"""
    workload = Workload(10)

    workload.add(pictures=1)
    workload.add(pictures=0)

    assert workload.total == 5 * (STEPS_PER_PICTURE + 2)
    assert workload.done == 0
