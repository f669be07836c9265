"""What is offered to a shell is what the user meant, whatever characters are in it."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.completion.shells import SCRIPTS, Shell, parse_bash_line, render_offers

WORD_BREAKS = " \t\n\"'@><=;|&(:"
printable = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1).filter(str.isprintable)


@given(printable, st.sampled_from(["", '"', "'"]))
def test_what_is_inserted_into_a_line_of_bash_is_read_as_the_value_again(value: str, quote: str) -> None:
    line = parse_bash_line(f"kb search --tag {quote}", WORD_BREAKS)

    typed = f"kb search --tag {quote}{line.render(value)}{quote} "

    assert parse_bash_line(typed, WORD_BREAKS).words == ["kb", "search", "--tag", value]


@given(printable, st.data())
def test_what_is_half_typed_is_completed_to_the_whole_value(value: str, data: st.DataObject) -> None:
    typed = parse_bash_line("", "").render(value[: data.draw(st.integers(0, len(value)))])
    line = parse_bash_line(f"kb get {typed}", WORD_BREAKS)

    # bash puts the offer in the place of what follows the last character that begins a word.
    kept = parse_bash_line("", "").render(value[: line.kept])
    assert typed.startswith(kept)
    assert parse_bash_line(f"kb get {kept}{line.render(value)} ", WORD_BREAKS).words[-1] == value


@pytest.mark.parametrize(
    "value", ["a b", "it's", 'say "hi"', "$HOME `x` !", "a:b/c=d@e", "*?[x]{y}~;|&<>()#", "größe", "~"]
)
def test_bash_itself_reads_what_it_is_offered_as_the_value(value: str) -> None:
    offered = parse_bash_line("", WORD_BREAKS).render(value)

    told = subprocess.run(["bash", "-c", f"printf %s {offered}"], capture_output=True, text=True, check=True).stdout

    assert told == value


@given(st.lists(printable, max_size=4))
def test_a_line_is_split_as_a_shell_splits_it(words: list[str]) -> None:
    assert parse_bash_line(f"{shlex.join(words)} ", WORD_BREAKS).words == words


def test_after_a_colon_bash_replaces_only_what_follows_it() -> None:
    line = parse_bash_line("kb search --tag proj:al", WORD_BREAKS)

    assert line.words == ["kb", "search", "--tag"]
    assert line.incomplete == "proj:al"
    assert line.render("proj:alpha") == "alpha"


def test_where_the_user_has_taken_the_colon_from_the_word_breaks_all_of_it_is_replaced() -> None:
    assert parse_bash_line("kb search --tag proj:al", " \t\n").render("proj:alpha") == "proj:alpha"


def test_an_open_quote_stays_open_for_bash_to_close() -> None:
    line = parse_bash_line('kb search --tag "two w', WORD_BREAKS)

    assert line.incomplete == "two w"
    assert line.render('two "words"') == r"two \"words\""


@given(st.lists(st.tuples(st.text(), st.text())))
def test_an_offer_is_one_line_with_one_tab_at_most(offers: list[tuple[str, str]]) -> None:
    for line in render_offers(offers):
        assert line.replace("\t", "", 1).isprintable()


def test_what_no_screen_can_show_is_not_offered() -> None:
    assert render_offers([("good", "a\x1b[31mred\nline"), ("b\x07ad", ""), ("two\nlines", "")]) == [
        "good\ta[31mred line"
    ]


@pytest.mark.parametrize("shell", Shell)
def test_there_is_a_script_for_each_shell(shell: Shell) -> None:
    assert f"completion {shell} --" in SCRIPTS[shell]
