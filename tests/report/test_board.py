"""The page to sign: what is on it, and that it is one sheet of A4."""

import base64
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from posse import api
from posse.cli import main as cli
from posse.durable.directory import RunDirectory
from posse.durable.lifetime import read as ledger_of
from posse.plan import prepare
from posse.reading.folder import read
from posse.report.board import board_page
from tests.support.browser import CHROMIUM, Browser


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lab run over two logs, of which the ledgers are told, and an audit of the same file."""
    folder = tmp_path_factory.mktemp("board")
    for rank in range(6):
        rows = "".join(
            f"{arm},{int(n % 10 < 9 - 6 * arm)}\n" for n in range(4000) for arm in (0, 1)
        )
        (folder / f"rewards-{rank}.csv").write_text(f"arm,reward\n{rows}")
    text = """
        system = "dp-mase"
        agents.count = 6
        arms = { kind = "csv", path = "rewards-{rank}.csv", count = 2 }
        parameters.epsilon = 1.0
        engine.kind = "memory"
    """
    (folder / "run.toml").write_text("\n".join(map(str.strip, text.splitlines())))
    plan = prepare(folder / "run.toml")
    RunDirectory(folder / "out", plan).open().complete(api.run(plan))
    return folder


def test_it_says_who_sees_what_and_what_each_ledger_adds_up_to(signed: Path) -> None:
    page = board_page(read(signed / "out"))
    by_title = {section.title: section for section in page.sections}
    seen = dict(by_title["Who sees what"].terms)
    assert seen["The coordinator"].startswith("Vote, the arms voted against: what the algorithm")
    assert seen["The agents"] == "Eliminated, the arms that left, a function of the votes."
    assert seen["Promised"].startswith("ε = 1 against whoever reads all messages of all agents")
    charged = dict(by_title["What a person is charged"].terms)
    told = {f"{ledger_of(signed / f'rewards-{rank}.csv').says}." for rank in range(6)}
    shown = [text for term, text in charged.items() if term.startswith("Agent ")]
    assert len(shown) == 3
    assert set(shown) <= told
    assert "3 more agents" in charged
    assert "does not say whose each reward is" in charged["A person"]
    assert "The pulls themselves" in by_title["What is not covered"].text[0]
    assert "No audit" in by_title["What an audit found"].text[0]
    hashes = dict(by_title["What was run"].terms)
    spec = (signed / "out" / "spec.toml").read_bytes()
    assert hashes["spec.toml"] == sha256(spec).hexdigest()


def test_a_ledger_that_is_elsewhere_is_said_to_be(signed: Path) -> None:
    series = read(signed / "out")
    arms = msgspec.structs.replace(series.spec.arms, path="gone-{rank}.csv")
    spec = msgspec.structs.replace(series.spec, arms=arms)
    charged = dict(board_page(replace(series, spec=spec)).sections[1].terms)
    assert charged["Elsewhere"].startswith(
        "The ledgers of agents 0, 1, 2, 3, 4, 5 are not on this machine"
    )


PDF = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_the_command_writes_one_sheet_with_the_audit(signed: Path) -> None:
    audited = signed / "audited"
    command = ["audit", str(signed / "run.toml"), "--runs", "0", "--out", str(audited), "--json"]
    assert cli.main([*command, "--set", "arms={kind='bernoulli',means=[.9,.5]}"]) == 0
    out = str(signed / "out")
    assert cli.main(["report", out, "--for", "board", "--audit", str(audited)]) == 0
    page = signed / "out" / "board.html"
    word = json.loads((audited / "audit.json").read_text())["word"]
    assert f"{word.capitalize()}: coupled runs found nothing against it" in page.read_text()
    with Browser() as browser:
        browser.open(page, media="print")
        pdf = base64.b64decode(browser.call("Page.printToPDF", **PDF)["data"])
    assert pdf.count(b"/Type /Page\n") == 1
