"""A result agrees with its schema; fronts and what stands apart follow from its numbers."""

import json

import jsonschema
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.experiments import InputError
from posse.measure.numbers import capital
from posse_arena import result
from posse_arena.apart import apart
from posse_arena.cells import LeftOut
from posse_arena.page import arena_page, verdict
from posse_arena.play import Scored
from posse_arena.play import trial as trial_of
from tests.arena.test_cells import BY_NAME, SMALL, cell
from tests.support.browser import CHROMIUM, Browser


def measured(name, scores, seconds=1.0, **asked):
    of = cell(name, **asked)
    runs = [Scored(score=score, pulls=100, bytes=50, seconds=seconds) for score in scores]
    return result.cell_result(of, trial_of(of, SMALL, 0), runs)


def small():
    """A result of five entrants for regret."""
    cells = [
        measured("ucb1", [9, 9.1, 9.2, 9, 9]),
        measured("cdp-mab", [5, 5.1, 5.2, 5, 5], budget=1.0),
        measured("cdp-mab-shared", [4, 4.1, 4.2, 4, 4], budget=1.0),
        measured("robust-private-ucb", [6, 6.1, 6.2, 6, 6], budget=1.0),
        measured("cooperative-ucb", [3, 3.1, 3.2, 3, 3], seconds=2.0),
    ]
    entrants = [result.of_entrant(BY_NAME[one.entrant]) for one in cells]
    left = [LeftOut("ucb1", "regret, thousand", "too large for the light form")]
    return result.result(entrants, cells, left, apart(entrants, cells), "light", "posse arena")


@pytest.fixture(scope="module", name="whole")
def fixture_whole():
    return small()


def test_a_result_agrees_with_its_schema_and_is_read_again(whole, tmp_path):
    document = msgspec.json.encode(whole)
    jsonschema.validate(json.loads(document), result.schema())
    (tmp_path / "result.json").write_bytes(document)
    assert result.read(tmp_path / "result.json") == whole
    (tmp_path / "result.json").write_bytes(document.replace(b'"version":1', b'"version":2'))
    with pytest.raises(InputError, match=r"result\.json is no result of the arena"):
        result.read(tmp_path / "result.json")


SCORES = st.lists(st.floats(0.1, 99), min_size=1, max_size=8)


@given(SCORES, SCORES)
@example([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0])
@example([1.0, 9.0, 2.0, 8.0, 5.0], [2.0, 8.0, 3.0, 9.0, 6.0])
@example([1.0] * 5, [2.0] * 5)
def test_below_five_runs_there_is_no_interval_and_a_lead_within_intervals_is_none(one, other):
    ours, theirs = measured("ucb1", one), measured("ucb1", other)
    for scores, told in ((one, ours.score), (other, theirs.score)):
        assert told.mean == pytest.approx(sum(scores) / len(scores))
        if len(scores) < 5:
            assert (told.low, told.high) == (None, None)
        else:
            assert told.low <= told.mean * (1 + 1e-12) <= told.high * (1 + 1e-9)
    assert not (result.dominates(ours, theirs) and result.dominates(theirs, ours))
    if len(one) >= 5 <= len(other):
        apart = ours.score.high < theirs.score.low
        assert apart or not result.dominates(ours, theirs)
    if set(one) == {1.0} and set(other) == {2.0}:
        assert result.dominates(ours, theirs)


def test_epsilon_of_a_person_is_that_of_all_its_rewards(whole):
    of_person = {one.entrant: one.epsilon_person for one in whole.cells}
    assert of_person.pop("cdp-mab-shared") > 100  # it has a δ
    assert of_person == {
        "ucb1": 0, "cdp-mab": 100.0, "robust-private-ucb": 100.0, "cooperative-ucb": None
    }  # fmt: skip


def test_on_the_front_is_who_is_clearly_beaten_in_nothing_that_it_does_not_win_back(whole):
    on = {one.entrant: one.front for one in whole.cells}
    assert on["ucb1"]  # nothing is sent
    assert on["cooperative-ucb"]
    assert not on["robust-private-ucb"]  # cdp-mab has less regret at the same cost


def test_each_entrant_is_told_whom_it_may_not_be_compared_with_and_why(whole):
    found = {(one.entrant, one.respect): (one.others, one.why) for one in whole.apart}
    private = ["cdp-mab", "cdp-mab-shared", "robust-private-ucb"]
    assert found["ucb1", "ε"][0] == private
    assert found["ucb1", "ε"][1].startswith("its ε is 0 because it sends nothing")
    assert found["cooperative-ucb", "ε"][0] == private
    assert found["cdp-mab-shared", "ε"][0] == ["cdp-mab", "robust-private-ucb"]
    assert found["cdp-mab", "bytes"][0] == ["robust-private-ucb", "cooperative-ucb"]
    assert "robust-private-ucb" not in found["robust-private-ucb", "regret under liars"][0]


def test_the_page_has_ranks_tables_and_reasons(whole):
    page = arena_page(whole)
    html = page.html()
    for text in ("Little regret against the arm", "cdp-mab, ε 1", "too large for the light form"):
        assert text in html
    (ranking,) = page.sections[1].rankings
    values = [row.value for row in ranking.rows]
    assert values == sorted(values)
    assert len(values) == 5
    assert ranking.rows[0].css == "level"
    told = verdict(whole)
    assert page.lead == f"{told.sentence}."
    assert told.sentence.startswith("Without limits: Little regret against the arm that is best")
    for label, sentence in told.losses:
        assert f"{capital(label)}: {sentence}" in page.alerts
    assert [label for label, _ in told.losses] == ["left out"]


def test_bytes_are_numbers_in_every_table(whole):
    for made in (made for section in arena_page(whole).sections for made in section.tables):
        for name, numeric in zip(made.header, made.numeric, strict=True):
            assert numeric or name not in ("bytes", "score", "ε", "seconds"), made.title


def test_the_page_says_whom_to_take_by_what_is_kept_secret(whole):
    kept = next(one for one in arena_page(whole).sections if one.id == "best")
    rows = kept.tables[0].rows
    assert [tuple(cell.text for cell in row[1:4]) for row in rows] == [
        ("none", "nothing is secret", "cooperative-ucb"),
        ("none", "messages are read: ε up to 10", "cdp-mab-shared, ε 1"),
        ("none", "messages are read: ε up to 1", "cdp-mab-shared, ε 1"),
    ]


ANSWER = """
(() => {
  const form = document.querySelector("form.ask"), epsilon = form.querySelector("input");
  const told = [];
  for (const place of [epsilon.max, 1, 0]) {
    epsilon.value = place;
    form.dispatchEvent(new Event("input"));
    const answer = form.querySelector(".answer").textContent;
    told.push([answer.split(":")[0], form.querySelector("pre").textContent.split(" ").at(-1)]);
  }
  return told;
})()
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_sliders_name_who_keeps_to_the_limits_and_the_command_that_runs_it(whole, tmp_path):
    page = arena_page(whole)
    page.write(tmp_path / "page.html")
    with Browser() as browser:
        browser.open(tmp_path / "page.html", width=375)
        assert browser.evaluate(ANSWER) == [
            ["cooperative-ucb", "cooperative-ucb"],
            ["cdp-mab-shared, ε 1", "cdp-mab-shared"],
            ["ucb1", "ucb1"],  # ε = 0: it sends nothing
        ]
        assert browser.messages == []


def test_the_page_says_where_an_entered_system_stands(whole):
    guest = msgspec.structs.replace(whole.entrants[1], origin="entered")
    entrants = [one if one.name != guest.name else guest for one in whole.entrants]
    page = arena_page(msgspec.structs.replace(whole, entrants=entrants))
    kept = next(one for one in page.sections if one.id == "best")
    places = [[cell.text for cell in row][:5] for row in kept.tables[1].rows]
    assert [row[0] for row in places] == ["cdp-mab, ε 1"] * 3
    assert [row[4] for row in places] == ["3 of 5", "2 of 4", "2 of 4"]
