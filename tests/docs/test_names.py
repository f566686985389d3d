"""What the documents name exists: files, commands with their options, names of Python."""

import importlib
import pkgutil
import re
import subprocess
import tomllib

import pytest

import posse
import posse.experiments
import posse.extend
import posse.pages
import posse.testing
import posse.verbs
import posse_systems.algorithms
from posse import protocol
from posse.cli import main as cli
from posse.cli.frame import options
from posse.protocol.message import Message, kind_name
from posse_papers import catalogue
from tests.support.blocks import PAGES, ROOT

ROOMS = "posse|agent|coordinator|protocol|topologies|systems|tests|docs|examples|deploy|bench"
ROOMS += "|papers|arena"
OF_PAGES = {str(page.relative_to(ROOT)): page.read_text() for page in PAGES}


def spans(text):
    """What stands in `code` within the text."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


@pytest.mark.parametrize("name", OF_PAGES)
def test_every_file_that_is_named_exists(name):
    named = {
        found[0]
        for span in spans(OF_PAGES[name])
        if (found := re.match(rf"(?:{ROOMS})/[\w./*-]*", span))
        and not re.search("FAMILY|NAME|PAPER", span)  # stand for any
    }
    assert [path for path in sorted(named) if not list(ROOT.glob(path.rstrip("/")))] == []


@pytest.mark.parametrize("name", OF_PAGES)
def test_every_test_that_is_named_exists(name):
    for file, test in re.findall(r"(tests/[\w/]+\.py)::(\w+)", OF_PAGES[name]):
        assert f"def {test}(" in (ROOT / file).read_text()


def test_every_extra_is_listed_and_every_extra_that_is_named_exists():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = {"dev", "docs", "bench"}  # for who works on posse
    table = OF_PAGES["docs/first-steps.md"].partition("|extra|")[2].partition("\n\n")[0]
    listed = re.findall(r"^\|`(\w+)`", table, re.M)
    assert sorted(listed) == sorted(declared["optional-dependencies"].keys() - ours)

    code = subprocess.run(
        ["git", "grep", "-hoE", r"posse-bandits\[[a-z]+\]"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    named = {*re.findall(r"\[(\w+)\]", code.stdout)}
    for page in OF_PAGES.values():
        named |= {*re.findall(r"extras? `(\w+)`", page)}
    assert named <= declared["optional-dependencies"].keys()


@pytest.mark.parametrize("name", OF_PAGES)
def test_every_command_that_is_named_exists(name):
    whole = cli.whole()
    for span in spans(OF_PAGES[name]):
        if not (said := re.match(r"posse ([a-z]+)(.*)", span)):
            continue
        if said[1] in cli.ELSEWHERE.keys() - cli.added_verbs().keys():
            continue
        known = options(whole, said[1])
        assert set(re.findall(r"(?<!\S)--[a-z-]+", said[2])) <= known, span


def test_every_message_of_the_diagram_exists():
    for module in pkgutil.iter_modules(protocol.__path__, "posse.protocol."):
        importlib.import_module(module.name)
    known, kinds = set(), [Message]
    while kinds:
        kinds += (kind := kinds.pop()).__subclasses__()
        known.add(kind_name(kind))
    section = OF_PAGES["docs/architecture.md"].partition("## A run, message by message")[2]
    arrows = re.findall(r"^  \|.*-.*$", section.partition("\n## ")[0], re.M)
    named = set(re.findall(r"\b[A-Z][A-Za-z]+", "\n".join(arrows)))
    assert len(named) > 15
    assert named <= known


@pytest.mark.parametrize(
    ("module", "page"),
    [
        (posse, "api"),
        (posse.extend, "api-extend"),
        (posse.testing, "testing"),
        (posse_systems.algorithms, "api-experiments"),
        (posse.experiments, "api-experiments"),
        (posse.pages, "api-experiments"),
        (posse.verbs, "api-experiments"),
    ],
)
def test_the_reference_has_every_public_name(module, page):
    named = re.findall(rf"^::: {module.__name__}\.(\w+)$", OF_PAGES[f"docs/{page}.md"], re.M)
    assert sorted(named) == sorted(module.__all__)


@pytest.mark.parametrize(
    ("page", "paper"),
    [
        ("best-arm", "rio"),
        ("cooperative", "dubey"),
        ("players", "tossou"),
        ("anonymous", "esfandiari"),
        ("federated", "li"),
    ],
)
def test_the_page_of_a_paper_says_how_to_make_its_experiments(page, paper):
    named = re.findall(rf"posse paper ({paper}-[\w-]+)", OF_PAGES[f"docs/{page}.md"])
    known = catalogue.experiments()
    assert named
    assert {name for name in named if name not in known} == set()


def test_every_page_is_in_the_sites_navigation():
    shown = re.findall(r"- (?:.*: )?([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(shown) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_the_readmes_links_hold_on_a_package_index():
    """A link relative to the repository leads nowhere there, nor does one to a part of the page."""
    text = re.sub(r"^```.*?^```$", "", OF_PAGES["README.md"], flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)]*)\)", text) + re.findall(r"^\[[^]]+\]:\s*(\S+)", text, re.M)
    links += re.findall(r"(?:href|src)=\"([^\"]*)\"", text)
    assert [link for link in links if not link.startswith("https://")] == []
