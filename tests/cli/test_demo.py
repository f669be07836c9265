import json
import re

from tests.cli.conftest import Kb


def test_c1_the_demo_adds_its_sample_and_shows_three_searches_that_find_what_they_promise(kb: Kb) -> None:
    result = kb("demo")

    searches = re.split(r"^\$ kb search ", result.stdout, flags=re.MULTILINE)
    assert result.exit_code == 0
    assert searches[0].count(" added: ") == 9
    firsts = [(command.splitlines()[0], command.splitlines()[1]) for command in searches[1:]]
    assert [(command, title.split("  ")[1]) for command, title in firsts] == [
        ("copper tape --tag sample --top 2", "Slugs: what worked for us"),
        ("pest control --tag sample --top 2", "Slugs: what worked for us"),
        ("water --tag sample --tag minutes --top 2", "Minutes, 13 June"),
    ]
    kb("demo", "--remove", "--yes")


def test_the_demo_can_be_shown_again_and_leaves_nothing_of_it_behind(kb: Kb) -> None:
    """C5: what somebody else has given the same tag stays."""
    own = json.loads(kb("addnote", "A note of my own", "--tag", "sample", "--json").stdout)
    kb("demo")

    again, unasked, removed = kb("demo"), kb("demo", "--remove"), kb("demo", "--remove", "--yes")

    assert again.stdout.count(" unchanged: ") == 9
    assert (unasked.exit_code, removed.stdout) == (4, "9 documents of the sample removed.\n")
    assert json.loads(kb("list", "--tag", "sample", "--json").stdout)["documents"][0]["id"] == own["document_id"]
    assert kb("demo", "--remove").stdout == "0 documents of the sample removed.\n"
