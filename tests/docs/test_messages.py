"""The page of private data says of every message that crosses a link what it reveals."""

from collections import Counter
from pathlib import Path

from docs.hooks import messages as page
from posse.protocol.message import kind_name

TEXT = (Path(__file__).parents[2] / "docs" / "private.md").read_text()


def test_every_message_says_what_it_reveals() -> None:
    assert [kind.__name__ for kind in page.kinds() if not kind.reveals] == []


def test_the_page_has_each_message_once() -> None:
    listed = Counter(name for _, name in page.named(TEXT))
    assert listed == Counter(map(kind_name, page.kinds()))
    assert {sender for sender, _ in page.named(TEXT)} == {
        "agent",
        "neighbour",
        "coordinator",
    }


def test_the_site_has_a_table_in_place_of_each_list() -> None:
    built = page.on_page_markdown(TEXT)
    assert "<!-- messages" not in built
    assert "|`Adv`|agent, to neighbours|whose means the agent has" in built
