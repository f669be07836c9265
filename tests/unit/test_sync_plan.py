from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kb.cli.syncing.planning import (
    PATH_OF_A_NOTE,
    SECOND_OF_A_FILE,
    Add,
    Delete,
    FolderContent,
    Keep,
    KnownDocument,
    Plan,
    Rename,
    Replace,
    Skip,
    plan_sync,
)

PATHS = st.sampled_from([f"/f/{name}" for name in ("a", "b", "c", "x/a", "x/b", "y/a", "a/a", "a/b")])
# Few contents, so that many files are the same.
HASHES = st.sampled_from(["h1", "h2", "h3"])
FILES = st.dictionaries(PATHS, HASHES)


def known(number: int, path: str, content_hash: str = "h1", version: int = 1) -> KnownDocument:
    return KnownDocument(number, path, content_hash, version)


@st.composite
def documents(draw: st.DrawFn) -> list[KnownDocument]:
    files = draw(FILES)
    numbers = draw(st.permutations(range(1, len(files) + 1)))
    return [known(number, path, told) for number, (path, told) in zip(numbers, files.items(), strict=True)]


def carry_out(plan: Plan, content: FolderContent, before: list[KnownDocument]) -> dict[int, KnownDocument]:
    """What an engine that does as it is told has afterwards."""
    base = {document.id: document for document in before}
    for rename in plan.renames:
        assert rename.path not in {document.source_path for document in base.values()}
        base[rename.document.id] = replace(rename.document, source_path=rename.path)
    sending: list[Add | Replace] = [*plan.adds, *plan.replaces]
    for sent in sending:
        number = sent.document.id if isinstance(sent, Replace) else max(base, default=0) + 1_000
        base[number] = known(number, sent.path, content.files[sent.path])
    for delete in plan.deletes:
        del base[delete.document.id]
    return base


@given(FILES, documents())
def test_the_documents_are_the_files_afterwards(files: dict[str, str], before: list[KnownDocument]) -> None:
    content = FolderContent(files)

    after = carry_out(plan_sync(content, before), content, before)

    # As a list: two documents of one file would show.
    assert sorted((document.source_path, document.content_hash) for document in after.values()) == sorted(files.items())


@given(FILES, documents())
def test_a_document_keeps_its_number_as_long_as_its_file_is_there(
    files: dict[str, str], before: list[KnownDocument]
) -> None:
    content = FolderContent(files)

    plan = plan_sync(content, before)

    after = carry_out(plan, content, before)
    there = [document for document in before if document.source_path in files]
    assert all(after[document.id].source_path == document.source_path for document in there)
    assert plan.unchanged == sum(files[document.source_path] == document.content_hash for document in there)


@given(FILES, documents())
def test_no_content_is_sent_or_deleted_that_could_have_been_renamed(
    files: dict[str, str], before: list[KnownDocument]
) -> None:
    plan = plan_sync(FolderContent(files), before)

    assert all(rename.document.content_hash == files[rename.path] for rename in plan.renames)
    assert not {files[add.path] for add in plan.adds} & {delete.document.content_hash for delete in plan.deletes}


@given(FILES, documents())
def test_a_second_plan_has_nothing_to_do(files: dict[str, str], before: list[KnownDocument]) -> None:
    content = FolderContent(files)
    after = carry_out(plan_sync(content, before), content, before)

    assert plan_sync(content, after.values()) == Plan(
        unchanged=len(files), renames=[], adds=[], replaces=[], deletes=[], skips=[], keeps=[]
    )


@given(FILES, documents(), st.randoms())
def test_the_order_in_which_things_are_listed_does_not_matter(
    files: dict[str, str], before: list[KnownDocument], random: Random
) -> None:
    shuffled = random.sample(before, len(before))
    turned = dict(random.sample(list(files.items()), len(files)))

    assert plan_sync(FolderContent(turned), shuffled) == plan_sync(FolderContent(files), before)


def test_of_equal_files_those_with_the_same_name_are_paired_first() -> None:
    before = [known(1, "/f/old/a"), known(2, "/f/old/b")]

    plan = plan_sync(FolderContent({"/f/new/b": "h1", "/f/new/c": "h1"}), before)

    assert plan.renames == [Rename("/f/new/b", before[1]), Rename("/f/new/c", before[0])]


def test_the_equal_files_of_a_renamed_folder_stay_in_their_order() -> None:
    before = [known(2, "/f/old/x/a"), known(1, "/f/old/y/a")]

    plan = plan_sync(FolderContent({"/f/new/x/a": "h1", "/f/new/y/a": "h1"}), before)

    assert plan.renames == [Rename("/f/new/x/a", before[0]), Rename("/f/new/y/a", before[1])]


def test_a_copy_of_a_file_that_is_still_there_is_a_document_of_its_own() -> None:
    plan = plan_sync(FolderContent({"/f/a": "h1", "/f/copy": "h1"}), [known(1, "/f/a")])

    assert (plan.adds, plan.unchanged, plan.renames) == ([Add("/f/copy")], 1, [])


def test_two_files_that_changed_names_replace_each_other() -> None:
    before = [known(1, "/f/a", "h1"), known(2, "/f/b", "h2")]

    plan = plan_sync(FolderContent({"/f/a": "h2", "/f/b": "h1"}), before)

    assert plan.replaces == [Replace("/f/a", before[0]), Replace("/f/b", before[1])]


def test_what_is_there_but_not_sent_protects_its_document_and_all_below_it() -> None:
    before = [known(1, "/f/closed/deep/a"), known(2, "/f/large"), known(3, "/f/largest")]

    plan = plan_sync(FolderContent({}, {"/f/closed": "cannot be read", "/f/large": "too large"}), before)

    assert plan.keeps == [Keep(before[0], "cannot be read"), Keep(before[1], "too large")]
    assert plan.deletes == [Delete(before[2])]


def test_a_kept_document_is_not_taken_for_a_renamed_one() -> None:
    plan = plan_sync(FolderContent({"/f/new": "h1"}, {"/f/old": "hidden"}), [known(1, "/f/old")])

    assert (plan.renames, plan.adds) == ([], [Add("/f/new")])


def test_what_was_refused_is_skipped_while_its_content_is_the_same_and_its_document_stays() -> None:
    refused = {path: Skip(path, "failed before") for path in ("/f/new", "/f/changed", "/f/read")}
    before = [known(1, "/f/changed", "h1"), known(2, "/f/read", "h3")]

    plan = plan_sync(FolderContent({"/f/new": "h2", "/f/changed": "h2", "/f/read": "h3"}, {}, refused), before)

    assert plan.skips == [refused["/f/changed"], refused["/f/new"]]
    assert (plan.adds, plan.replaces, plan.deletes, plan.unchanged) == ([], [], [], 1)


def test_a_note_is_never_touched_and_no_file_takes_its_place() -> None:
    notes = [replace(known(1, "/f/a", "h1"), is_note=True), replace(known(2, "/f/gone", "h2"), is_note=True)]

    plan = plan_sync(FolderContent({"/f/a": "h9", "/f/b": "h2"}), notes)

    assert list(plan.steps()) == [Skip("/f/a", PATH_OF_A_NOTE), Add("/f/b")]


def test_of_two_documents_of_one_path_the_older_stays() -> None:
    before = [known(7, "/f/a"), known(3, "/f/a")]

    plan = plan_sync(FolderContent({"/f/a": "h1"}), before)

    assert (plan.unchanged, plan.deletes) == (1, [Delete(before[0], SECOND_OF_A_FILE)])


@given(FILES, documents())
def test_a_plan_that_keeps_all_deletes_nothing_and_loses_no_document(
    files: dict[str, str], before: list[KnownDocument]
) -> None:
    plan = plan_sync(FolderContent(files), before)

    kept = plan.keeping_all("in doubt")

    assert (kept.deletes, {keep.reason for keep in kept.keeps} <= {"in doubt"}) == ((), True)
    assert [keep.document for keep in kept.keeps] == [delete.document for delete in plan.deletes]
    assert replace(kept.deleting_kept("in doubt"), deletes=()) == replace(plan, deletes=())


def test_what_is_kept_for_one_reason_can_be_deleted_and_the_rest_stays() -> None:
    before = [known(1, "/f/hidden"), known(2, "/f/ignored"), known(3, "/f/gone")]
    plan = plan_sync(FolderContent({}, {"/f/hidden": "hidden", "/f/ignored": "ignored"}), before)

    plan = plan.deleting_kept("ignored")

    assert plan.keeps == [Keep(before[0], "hidden")]
    assert plan.deletes == [Delete(before[2]), Delete(before[1], "ignored")]
