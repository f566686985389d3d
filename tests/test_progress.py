"""The line that moves: what it counts, what it says of the time left, and where it is shown."""

import io
import itertools
import logging
import sys
import types

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from posse import api, progress
from posse.cli import call
from posse.cli import progress as shown
from posse.plan import prepare
from posse.progress import Notebook, Progress, RunProgress, Screen, duration, of_notebook
from tests.support.cluster import SPEC
from tests.support.remote import until
from tests.support.runfile import describe_run


class Clock:
    """Time that stands still until a test moves it."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_it_counts_and_says_what_is_left(clock: Clock) -> None:
    line = Progress("sweep", 10, Screen())
    assert line.line == "sweep · 0 of 10 runs"
    line.done(before=True)
    line.done(before=True)
    assert line.line == "sweep · 2 of 10 runs · 2 from before"
    clock.now += 30
    line.done()
    line.done(failed=True)
    # 15 s each, 6 are left
    assert line.line == "sweep · 4 of 10 runs · 2 from before · 1 failed · about 90 s left"
    line.inside("slot 50 of 100", 0.5)
    assert line.line.endswith("1 failed · slot 50 of 100 · about 66 s left")
    for _ in range(6):
        line.done()
    assert line.line == "sweep · 10 of 10 runs · 2 from before · 1 failed"


def test_of_unequal_pieces_the_first_tell_nothing_of_the_time_left(clock: Clock) -> None:
    line = Progress("all", 50, Screen(), after=0.1)
    for _ in range(10):
        line.done(before=True)
    clock.now += 300
    for _ in range(3):
        line.done()
    assert line.line == "all · 13 of 50 runs · 10 from before"
    line.done()  # a tenth of 40
    assert line.line == "all · 14 of 50 runs · 10 from before · about 45 min left"


def test_a_single_run_says_what_is_left_where_its_horizon_is_known(clock: Clock) -> None:
    spec = describe_run("tdfs-ucb", 2, SPEC["arms"], parameters={"horizon": 400}, engine="memory")
    lines = []
    plan = prepare(spec)
    watch = RunProgress(plan, Screen())

    def observe(host) -> None:
        clock.now += 1.0
        watch.observe(host)
        lines.append(watch.line)

    api.run(plan, observe=observe)
    assert any("of 400" in line and line.endswith("left") for line in lines)
    assert lines[0].startswith("tdfs-ucb · ")


def test_who_has_joined_is_said_until_all_have() -> None:
    watch = RunProgress(prepare(SPEC), Screen())
    agents = SPEC["agents"]["count"]
    watch.joined(agents - 1)
    assert watch.line.endswith(f" · {agents - 1} of {agents} agents have joined")
    watch.joined(agents)
    assert "joined" not in watch.line


@given(st.floats(0, 1e7))
@example(0.4)
@example(99.0)
@example(100.0)
@example(5_999.0)
@example(7_200.0)
def test_a_duration_is_read_in_the_unit_that_suits_it(seconds: float) -> None:
    number, unit = duration(seconds).split()
    size, digits = {"s": (1, 0), "min": (60, 0), "h": (3_600, 1)}[unit]
    assert float(number) == pytest.approx(seconds / size, abs=0.501 * 10**-digits)
    assert unit == ("s" if seconds < 100 else "min" if seconds < 6_000 else "h")


class Patient(Screen):
    """A screen that says when it was shown something."""

    every = 0.001

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.closed = False

    def show(self, line: str) -> None:
        self.lines.append(line)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def close(self) -> None:
        self.closed = True


def test_it_moves_while_nothing_ends_and_stops_at_the_end() -> None:
    screen = Patient()
    with Progress("run", 2, screen):
        until(lambda: len(screen.lines) > 2, "three lines")
    assert screen.closed
    seen = len(screen.lines)
    assert set(screen.lines) == {"run · 0 of 2 runs"}
    assert len(screen.lines) == seen


def test_who_has_long_work_before_him_is_told_once_how_it_would_be_shorter(clock: Clock) -> None:
    screen = Patient()
    screen.hint = "there is a faster way"
    with Progress("run", 10, screen) as line:
        clock.now += 33
        line.done()  # 297 s are left: not long
        until(lambda: len(screen.lines) > 2, "three lines")
        assert screen.hint not in screen.lines
        clock.now += 1
        until(lambda: screen.hint in screen.lines, "the hint")
        seen = len(screen.lines)
        until(lambda: len(screen.lines) > seen + 3, "more lines")
    assert screen.lines.count(screen.hint) == 1


def test_where_a_command_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with call.begun(quiet=True, verbose=False):
        assert type(shown.screen()) is Screen
    assert isinstance(shown.screen(), shown.PlainLines)
    monkeypatch.setattr(sys, "stderr", Terminal())
    moving = shown.screen()
    assert isinstance(moving, shown.Terminal)
    moving.show("run · 1 of 2 runs")
    moving.close()
    assert "1 of 2 runs" in sys.stderr.getvalue()


@given(st.lists(st.sampled_from(["0 of 2", "1 of 2", "2 of 2"])))
@example(["0 of 2", "0 of 2", "1 of 2", "1 of 2", "0 of 2"])
def test_where_lines_stay_none_is_said_twice_in_a_row(lines: list[str]) -> None:
    out = io.StringIO()
    plain = shown.PlainLines(Console(file=out, highlight=False))
    for line in lines:
        plain.show(line)
    assert out.getvalue().splitlines() == [line for line, _ in itertools.groupby(lines)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_notebook_shows_it_and_a_script_does_not(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    assert type(of_notebook()) is Screen
    handle = types.SimpleNamespace(shown=[])
    handle.update = lambda data, raw: handle.shown.append(data["text/plain"])

    def display(data, raw, display_id):
        handle.shown.append(data["text/plain"])
        return handle

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    inner = types.ModuleType("IPython.display")
    inner.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    screen = of_notebook()
    assert isinstance(screen, Notebook)
    screen.show("soon over")
    assert handle.shown == []
    clock.now += 3
    screen.show("1 of 2")
    screen.show("2 of 2")
    screen.close()
    assert handle.shown == ["1 of 2", "2 of 2", ""]


def test_where_the_log_is_json_what_stays_is_in_it_with_its_level(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("posse"), "propagate", True)
    caplog.set_level(logging.INFO, "posse")
    for quiet in (False, True):
        with call.begun(quiet=quiet, verbose=False) as current:
            current.json_log = True
            screen = shown.screen()
            screen.show("this moves")
            screen.warn("nothing is protected")
            screen.say("run 1 of 2: horizon")
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said == [("WARNING", "nothing is protected"), ("INFO", "run 1 of 2: horizon")]
