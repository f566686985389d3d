"""Runs are kept and found again; tuned is what did best on other instances."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from posse.experiments import run_in_memory
from posse_arena import play
from posse_arena.entrants import entered
from posse_arena.play import Failed, Scored, Trial
from posse_arena.problems import BASE, FIRST_TUNED, Size
from tests.arena.test_cells import BY_NAME, SMALL, cell


def scored(score, wrong=None):
    return Scored(score=score, wrong=wrong, pulls=1.0, bytes=1.0, seconds=1.0)


def test_a_run_is_scored_by_its_task_and_found_again(tmp_path):
    trials = [play.trial(cell("cooperative-ucb"), SMALL, number) for number in range(2)]
    before: list[bool] = []
    scores = play.run(trials, tmp_path, before.append, jobs=1)
    assert play.run(trials, tmp_path, before.append, jobs=1) == scores
    assert before == [False, False, True, True]
    assert [one.pulls for one in scores] == [100, 100]
    assert all(one.bytes > 0 and one.score > 0 for one in scores)


def test_regret_under_liars_is_that_of_the_others():
    asked = play.trial(cell("ucb1", adversary="liars", problem="hard"), SMALL, 0)
    assert asked.lying == 1
    assert 0 < play.play(asked).score < 0.1 * 100


def test_slow_links_change_the_time_of_a_run_and_nothing_else():
    near, far = (
        play.play(play.trial(cell("cdp-mab", 1.0, links=links), SMALL, 0))
        for links in ("near", "continents")
    )
    assert near.time is None
    assert 0.3 < far.time < 3
    assert (far.score, far.pulls, far.bytes) == (near.score, near.pulls, near.bytes)


def test_the_best_arm_is_that_of_the_true_means():
    asked = play.trial(cell("mase", problem="two"), Size(8, None, 5, 3), 0)
    scored = play.play(asked)
    assert scored.wrong is False
    assert scored.score == scored.pulls > 10


def test_who_does_not_pull_as_often_as_asked_has_no_score():
    asked = play.trial(cell("ucb1"), SMALL, 0)
    failed = play.play(Trial(text=asked.text, task="regret", lying=0, horizon=90)).why
    assert failed.startswith("made 100 pulls per agent, where the task has 90;")


def test_a_run_that_fails_says_why():
    asked = play.trial(cell("ucb1", adversary="liars"), SMALL, 0)
    broken = asked.text.replace("liars_uniform", "liars_of_nobody")
    assert (
        "liars_of_nobody" in play.play(Trial(text=broken, task="regret", lying=1, horizon=100)).why
    )


def test_tuned_is_what_did_best_on_tuning_instances():
    asked = cell("private-ucb-doubling", 1.0, network="regular")
    seen = []

    def runs(trials):
        seen.extend(trials)
        return [scored(1.0 if '"gamma": 1' in one.text else 2.0) for one in trials]

    (tuned,) = play.tune([asked], "light", runs)
    assert (tuned.tuned, tuned.form, asked.form) == ({"gamma": 1}, "tuned", "default")
    assert {one.plan.spec.seed for one in seen} == {FIRST_TUNED, FIRST_TUNED + 1, FIRST_TUNED + 2}


def test_every_value_that_is_tried_is_one_that_its_system_takes():
    for entrant in BY_NAME.values():
        if entrant.tune and not entrant.has("epsilon"):
            asked = cell(entrant.name, problem=BASE[entrant.tasks[0]])
            (tried,) = play.tried([asked], "light").values()
            assert len(tried) == 1 + sum(map(len, entrant.tune.values())), entrant.name


def test_a_cell_with_a_failed_run_is_left_out():
    asked = cell("cdp-mab", 1.0)
    done, out = play.score([asked], "light", lambda ts: [Failed("no reason")] * len(ts))
    assert (done, out[0].entrant, out[0].why) == ([], "cdp-mab", "no reason")


RUNS = st.lists(st.none() | st.tuples(st.floats(0, 99), st.booleans()), min_size=2, max_size=2)


@given(RUNS, RUNS)
@example([(1.0, True), (0.0, False)], [(9.0, False)] * 2)
@example([(1e9, True), None], [None, None])
def test_failures_count_before_errors_and_errors_before_scores(one, other):
    """None: a run that failed; else a score, and whether the answer was wrong."""

    def told(runs):
        return [Failed("x") if run is None else scored(*run) for run in runs]

    def slow(runs):
        ended = [run for run in runs if run]
        wrong = sum(wrong for _, wrong in ended)
        return runs.count(None), wrong, sum(s for s, _ in ended) / max(len(ended), 1)

    assert (play._rank(told(one)) < play._rank(told(other))) == (slow(one) < slow(other))


def test_what_was_not_measured_is_no_score():
    asked = play.trial(cell("cooperative-ucb"), SMALL, 0)
    record = run_in_memory(asked.plan, 0)
    lied = replace(asked, lying=1)
    assert isinstance(play._score(lied, asked.plan, record, 1.0), Scored)
    record.regret_per_agent = None  # as where all share their arms
    assert play._score(lied, asked.plan, record, 1.0) == Failed(
        "its run does not measure the regret of each agent, which share their arms"
    )
    record.regret = None
    assert isinstance(play._score(asked, asked.plan, record, 1.0), Failed)
    record.pulls = None
    assert isinstance(play._score(asked, asked.plan, record, 1.0), Failed)


def test_who_shares_arms_enters_as_players():
    assert entered("tdfs-ucb").tasks == ("players",)
