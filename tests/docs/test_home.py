"""What somebody finds who knows nothing: a picture, three commands, twelve words, four doors."""

import re

from tests.support.blocks import ROOT, blocks

HOME = ROOT / "docs" / "index.md"
TEXT = HOME.read_text()


def test_the_home_has_a_picture_three_commands_twelve_words_and_four_doors() -> None:
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert (HOME.parent / picture).is_file()
    (commands,) = [block.text for block in blocks(HOME)]
    assert [line.split()[:2] for line in commands.splitlines()] == [
        ["posse", "check"],
        ["posse", "run"],
        ["posse", "report"],
    ]
    words = TEXT.partition("## Twelve words")[2].partition("\n## ")[0]
    named = re.findall(r"^\|([^|]+)\|", words, re.M)[2:]
    assert len(named) == 12
    assert {"arm", "regret", "ε", "η", "λ"} <= set(named)
    doors = TEXT.partition("## Four doors")[2]
    assert len(re.findall(r"^\*\*[^*]+\.\*\*", doors, re.M)) == 4


def test_the_documents_are_no_longer_than_agreed() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert sum(len(page.read_text().split()) for page in pages) <= 42_000
