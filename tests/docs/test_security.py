"""The threat model: each line has its test, or says what somebody can do."""

import re
import sys

import pytest

from tests.support.blocks import ROOT
from tests.support.runs import printed

PAGE = (ROOT / "docs/security.md").read_text()
WHO = ["coordinator", "agent", "neighbour or relay"]
PARTIES = [f"A malicious {who}" for who in WHO]
SECTIONS = [*PARTIES, "The network", "A local user", "Files and deployments"]
MEMORY = "Memory that a peer can fill"


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line[1:-1].split("|") for line in section.splitlines() if line[:1] == "|"]
    return [[cell.strip() for cell in row] for row in table[2:]]


@pytest.mark.parametrize("heading", SECTIONS)
def test_what_somebody_cannot_do_has_its_test(heading: str) -> None:
    table = rows(heading)
    assert table
    for tries, comes, test in table:
        can = re.match(r"(it|they) can\b", comes) is not None
        # that the test exists is held for every page: test_names
        assert can or re.search(r"`tests/[\w/]+\.py::\w+`", test), tries


@pytest.mark.slow
def test_every_test_of_an_attack_is_collected() -> None:
    """By `make attacks`, and with no word against it by `make test-all`, which .ci/run calls."""
    makefile = (ROOT / "Makefile").read_text()
    (found,) = re.findall(r"grep -o '(.*)' docs/security.md", makefile)
    named = set(re.findall(r"tests/[\w/]+\.py::\w+", PAGE))
    assert set(re.findall(found, PAGE)) == named
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    command += sorted(named)
    said = printed(command, cwd=ROOT)
    collected = set(re.findall(r"^tests/[\w/]+\.py::\w+", said, re.M))
    without = re.findall(r"^SKIPPED .*? (tests/[\w/]+\.py)", said, re.M)
    assert [test for test in sorted(named - collected) if test.split("::")[0] not in without] == []
    assert '-m "not machine"' in makefile
    assert "pytest -m machine" in makefile
    assert "make test-all" in (ROOT / ".ci/run").read_text()


def test_every_buffer_has_its_peak_and_its_test() -> None:
    for buffer, _, peak, test in rows(MEMORY):
        assert float(peak) > 0, buffer
        assert re.fullmatch(r"`tests/[\w/]+\.py::\w+`", test), buffer
