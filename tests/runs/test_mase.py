"""Best-arm identification: voters and tallies, alone and together (Rio et al. 2023)."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mase import DpMaseVoter, MaseVoter, RawSender
from agent.noise import SeededNoise
from coordinator.mase import CentralEliminator, MaseTally
from posse.engines import memory
from posse.errors import SpecError
from posse.plan import prepare
from posse.spec.activity import ActivitySpec
from posse.spec.runfile import AgentsSpec
from protocol.errors import RemoteProtocolError
from protocol.machine import (
    COORDINATOR,
    Broadcast,
    Disclose,
    Explore,
    Finish,
    Observed,
    PeerFinished,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from protocol.mase import (
    Eliminated,
    Sample,
    Variant,
    Vote,
    corrupted_failure,
    epoch_length,
    epoch_radius,
    threshold,
    votes_needed,
)
from protocol.wire import pack_floats
from tests.support.noise import NoNoise
from tests.support.runs import BEST_ARM_SYSTEMS, spec


class Told(NoNoise):
    """Votes are withheld as told."""

    def __init__(self, kept: list[bool] | None = None) -> None:
        self.kept = kept or []

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [self.kept.pop(0) for _ in range(size)]


def of(kind: type, effects: Any) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


# --- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("beta", "votes"), [(0.3, 3), (0.5, 5), (0.8, 14), (0.9, 29)])
def test_threshold(beta: float, votes: int) -> None:
    assert threshold(0.05, beta) == votes


def test_threshold_of_an_exact_power_is_not_rounded_up() -> None:
    assert threshold(0.125, 0.5) == 3
    assert threshold(0.001, 0.1) == 3


def test_vote_rule_follows_the_variant_unless_told() -> None:
    assert votes_needed(5, None, "corrected") == 5
    assert votes_needed(5, None, "printed") == 6
    assert votes_needed(5, "more-than", "corrected") == 6
    assert votes_needed(5, "at-least", "printed") == 5


@pytest.mark.parametrize(("xi", "eta_xi"), [(0.0, 0.9), (0.05, 0.8413), (0.1, 0.7419)])
def test_eta_xi(xi: float, eta_xi: float) -> None:
    assert corrupted_failure(0.9, xi, 10, 0.05, "corrected") == pytest.approx(eta_xi, abs=1e-4)


def test_eta_xi_stops_at_delta_in_corrected_only() -> None:
    limit = 1 - 0.1 ** (1 / 9)
    assert corrupted_failure(0.9, limit + 1e-6, 10, 0.05, "printed") < 0
    assert corrupted_failure(0.9, limit + 1e-6, 10, 0.05, "corrected") == 0.05


def test_epoch_length_by_hand() -> None:
    # k = 10, e = 1, beta = .5: 32 ln(160) / .25 = 649.6; 8 ln(80) / (.1 * .5) = 701.1
    assert epoch_length(10, 1, 0.5, 100.0) == math.ceil(128 * math.log(160)) == 650
    assert epoch_length(10, 1, 0.5, 0.1) == math.ceil(160 * math.log(80)) == 702


@given(
    arms=st.integers(2, 500),
    epoch=st.integers(1, 12),
    beta=st.floats(0.01, 0.99),
    epsilon=st.floats(0.01, 10),
)
def test_an_epoch_is_long_enough_for_its_gap(
    arms: int, epoch: int, beta: float, epsilon: float
) -> None:
    """2 (h + c) <= Δ_e / 2: an arm that is Δ_e behind cannot survive a quiet epoch."""
    pulls = epoch_length(arms, epoch, beta, epsilon)
    assert 2 * epoch_radius(arms, epoch, beta, epsilon, pulls) <= 2.0**-epoch / 2 + 1e-12


# --- MASE and Corrupted Elimination --------------------------------------------------------------


def slow_elimination(rewards: Any, failure: float) -> tuple[int, list[int]]:
    """Successive elimination one reward at a time: when it first eliminates, and whom."""
    arms, width = rewards.shape
    for t in range(1, width + 1):
        means = [sum(rewards[k, :t]) / t for k in range(arms)]
        radius = math.sqrt(math.log(arms * t * t / failure) / t)
        losers = [k for k in range(arms) if max(means) - means[k] >= 2 * radius]
        if losers:
            return t, losers
    return width + 1, []


@pytest.mark.parametrize("seed", range(5))
def test_local_test_equals_the_slow_form(seed: int) -> None:
    rewards = (
        np.random.default_rng(seed).random((3, 400)) < np.array([[0.9], [0.5], [0.1]])
    ).astype(float)
    voter = MaseVoter(3, 0.5, Told())
    assert voter.handle(Started(), 0.0) == [Explore((0, 1, 2))]
    when, losers = slow_elimination(rewards, 0.5)
    assert losers
    silent = voter.silent(rewards)
    assert silent == when - 1
    assert voter.handle(Observed((0, 1, 2), rewards[:, :silent]), 1.0) == []
    effects = voter.handle(Observed((0, 1, 2), rewards[:, silent : silent + 1]), 2.0)
    assert of(Send, effects) == [Send(COORDINATOR, Vote(tuple(losers)))]
    assert of(Explore, effects) == [Explore(tuple(k for k in range(3) if k not in losers))]


def test_a_withheld_vote_still_leaves_the_local_set() -> None:
    voter = MaseVoter(3, 0.5, Told(kept=[False, True]), xi=0.5)
    voter.handle(Started(), 0.0)
    rewards = np.array([[1.0] * 60, [0.0] * 60, [0.0] * 60])
    fires = voter.silent(rewards) + 1
    effects = voter.handle(Observed((0, 1, 2), rewards[:, :fires]), 1.0)
    assert of(Send, effects) == [Send(COORDINATOR, Vote((2,)))]
    assert of(Finish, effects) == [Finish("done", 0)]


def test_a_voter_follows_the_coordinator_at_once() -> None:
    voter = MaseVoter(3, 0.5, Told())
    voter.handle(Started(), 0.0)
    assert voter.handle(Received(COORDINATOR, Eliminated((1,))), 1.0) == [Explore((0, 2))]
    assert voter.handle(Received(COORDINATOR, Eliminated((1,))), 1.0) == []
    assert voter.handle(Received(COORDINATOR, Eliminated((0, 2))), 1.0) == [Finish("done", None)]


def test_to_the_letter_of_algorithm_3_an_agent_follows_at_its_own_next_activation() -> None:
    voter = MaseVoter(3, 0.5, Told(), eager=False)
    voter.handle(Started(), 0.0)
    same = np.ones((3, 8))
    assert voter.silent(same) == 8
    # line 6: all of the old L_n once more; line 12: then what G lost is dropped
    assert voter.handle(Received(COORDINATOR, Eliminated((1,))), 1.0) == [Explore((0, 1, 2))]
    assert voter.silent(same) == 0
    assert voter.handle(Observed((0, 1, 2), same[:, :1]), 2.0) == [Explore((0, 2))]
    assert voter.silent(same[:2]) == 8
    # lines 10 to 12: it asks whether it is done before it synchronises, so once more with one arm
    assert voter.handle(Received(COORDINATOR, Eliminated((2,))), 3.0) == [Explore((0, 2))]
    assert voter.handle(Observed((0, 2), same[:2, :1]), 4.0) == [Explore((0,))]
    assert voter.silent(same[:1]) == 0
    assert voter.handle(Observed((0,), same[:1, :1]), 5.0) == [Finish("done", 0)]


def test_to_the_letter_of_algorithm_3_an_agent_may_be_left_without_an_arm() -> None:
    voter = MaseVoter(2, 0.5, Told(), eager=False)
    voter.handle(Started(), 0.0)
    voter.handle(Received(COORDINATOR, Eliminated((0, 1))), 1.0)
    assert voter.handle(Observed((0, 1), np.ones((2, 1))), 2.0) == [Finish("done", None)]


@pytest.mark.parametrize("voter", [MaseVoter(3, 0.5, Told()), RawSender(3)])
def test_an_agent_refuses_what_no_coordinator_says(voter: Any) -> None:
    voter.handle(Started(), 0.0)
    with pytest.raises(RemoteProtocolError, match="no-such-arm"):
        voter.handle(Received(COORDINATOR, Eliminated((3,))), 0.0)
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        voter.handle(Received(1, Eliminated((1,))), 0.0)
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        voter.handle(Received(COORDINATOR, Vote((1,))), 0.0)


# --- DP-MASE -------------------------------------------------------------------------------------


def dp_voter(variant: Variant = "corrected") -> DpMaseVoter:
    return DpMaseVoter(4, 0.5, 1.0, variant, Told())


def test_dp_epoch_votes_by_the_printed_inequality() -> None:
    voter = dp_voter()
    pulls = epoch_length(4, 1, 0.5, 1.0)
    assert voter.handle(Started(), 0.0) == [Pull((0, 1, 2, 3), pulls)]
    width = 2 * epoch_radius(4, 1, 0.5, 1.0, pulls)
    means = np.array([0.9, 0.9 - width + 1e-6, 0.9 - width - 1e-6, 0.0])
    effects = voter.handle(Pulled((0, 1, 2, 3), pulls, means * pulls), 1.0)
    assert of(Send, effects) == [Send(COORDINATOR, Vote((2, 3)))]
    assert of(Pull, effects) == [Pull((0, 1), epoch_length(2, 2, 0.5, 1.0))]
    (disclosed,) = of(Disclose, effects)
    assert disclosed.release.epsilon == 1.0
    assert disclosed.release.scale == pytest.approx(1 / pulls)
    assert disclosed.release.sensitivity / disclosed.release.scale == pytest.approx(1.0)


@pytest.mark.parametrize(("variant", "arms_for_length"), [("corrected", 2), ("printed", 4)])
def test_dp_synchronises_only_at_an_epochs_end(variant: Variant, arms_for_length: int) -> None:
    """Printed computes R before the arms that G lost are dropped, corrected after."""
    voter = dp_voter(variant)
    voter.handle(Started(), 0.0)
    assert voter.handle(Received(COORDINATOR, Eliminated((1, 2))), 0.5) == []
    pulls = epoch_length(4, 1, 0.5, 1.0)
    effects = voter.handle(Pulled((0, 1, 2, 3), pulls, np.full(4, 0.5 * pulls)), 1.0)
    assert of(Pull, effects) == [Pull((0, 3), epoch_length(arms_for_length, 2, 0.5, 1.0))]


def test_dp_a_set_left_with_one_or_no_arm_by_synchronisation_is_done() -> None:
    for dead, answer in (((1, 2, 3), 0), ((0, 1, 2, 3), None)):
        voter = dp_voter()
        voter.handle(Started(), 0.0)
        voter.handle(Received(COORDINATOR, Eliminated(dead)), 0.5)
        effects = voter.handle(Pulled((0, 1, 2, 3), 1, np.full(4, 0.5)), 1.0)
        assert of(Finish, effects) == [Finish("done", answer)]


def test_dp_releases_have_the_laplace_law() -> None:
    """Kolmogorov-Smirnov against Lap(1/(εR)); false alarm 1e-4 at this sample size, fixed seed."""
    from scipy import stats  # noqa: PLC0415

    epsilon, pulls = 0.2, epoch_length(2, 1, 0.5, 0.2)
    noise = SeededNoise(np.random.default_rng(0))
    draws = noise.laplace(1 / (epsilon * pulls), 20_000)
    assert stats.kstest(draws, stats.laplace(scale=1 / (epsilon * pulls)).cdf).pvalue > 1e-4


# --- the tally -----------------------------------------------------------------------------------


def tally(arms: int = 3, agents: int = 4, needed: int = 2) -> MaseTally:
    machine = MaseTally(arms, agents, needed, np.random.default_rng(0))
    machine.handle(Started(), 0.0)
    return machine


def test_an_arm_leaves_with_its_last_needed_vote() -> None:
    machine = tally()
    assert of(Broadcast, machine.handle(Received(0, Vote((2,))), 0.0)) == []
    effects = machine.handle(Received(1, Vote((2,))), 0.0)
    assert of(Broadcast, effects) == [Broadcast(Eliminated((2,)))]
    assert of(Finish, effects) == []
    machine.handle(Received(2, Vote((0,))), 0.0)
    effects = machine.handle(Received(3, Vote((0,))), 0.0)
    assert of(Broadcast, effects) == [Broadcast(Eliminated((0,)))]
    assert of(Finish, effects) == [Finish("identified", 1)]


def test_the_last_arm_of_g_never_leaves() -> None:
    machine = tally(arms=3, needed=1)
    effects = machine.handle(Received(0, Vote((0, 1, 2))), 0.0)
    assert of(Broadcast, effects) == [Broadcast(Eliminated((0, 1)))]
    assert of(Finish, effects) == [Finish("identified", 2)]


def test_no_consensus_gives_the_least_voted_arm_of_g() -> None:
    machine = tally(arms=3, agents=3, needed=3)
    machine.handle(Received(0, Vote((0, 2))), 0.0)
    machine.handle(Received(1, Vote((2,))), 0.0)
    for rank in (0, 1):
        assert machine.handle(PeerFinished(rank), 0.0) == []
    assert machine.handle(PeerFinished(2), 0.0) == [Finish("no_consensus", 1)]


@pytest.mark.parametrize(
    ("arms", "reason"),
    [((3,), "no-such-arm"), ((1, 1), "duplicate-vote"), ((2, 1), "duplicate-vote")],
)
def test_bad_votes_are_refused_and_change_nothing(arms: tuple[int, ...], reason: str) -> None:
    machine = tally()
    with pytest.raises(RemoteProtocolError) as refusal:
        machine.handle(Received(0, Vote(arms)), 0.0)
    assert refusal.value.reason == reason
    assert machine.votes.sum() == 0


def test_a_second_vote_of_the_same_agent_is_refused() -> None:
    machine = tally()
    machine.handle(Received(0, Vote((2,))), 0.0)
    with pytest.raises(RemoteProtocolError, match="duplicate-vote"):
        machine.handle(Received(0, Vote((1, 2))), 0.0)
    assert list(machine.votes) == [0, 0, 1]


# --- central -------------------------------------------------------------------------------------


def test_central_equals_the_slow_form() -> None:
    rewards = (np.random.default_rng(1).random((3, 900)) < [[0.9], [0.5], [0.1]]).astype(float)
    when, losers = slow_elimination(rewards, 0.05)
    machine = CentralEliminator(3, 2, 0.05)
    machine.handle(Started(), 0.0)
    for t in range(1, when + 1):
        sample = Sample((0, 1, 2), pack_floats(rewards[:, t - 1]))
        effects = machine.handle(Received(t % 2, sample), 0.0)
        assert bool(effects) == (t == when)
    assert of(Broadcast, effects) == [Broadcast(Eliminated(tuple(losers)))]


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (Sample((0, 3), b""), "no-such-arm"),
        (Sample((0, 1), pack_floats(np.zeros(2))), "wrong-arms"),
        (Sample((0, 1, 2), pack_floats(np.zeros(2))), "wrong-length"),
        (Sample((0, 1, 2), pack_floats(np.array([0, np.nan, 0]))), "not-finite"),
    ],
)
def test_central_refuses_bad_samples(sample: Sample, reason: str) -> None:
    machine = CentralEliminator(3, 2, 0.05)
    machine.handle(Started(), 0.0)
    with pytest.raises(RemoteProtocolError) as refusal:
        machine.handle(Received(0, sample), 0.0)
    assert refusal.value.reason == reason
    assert machine.t == 0
    assert machine.sums.sum() == 0


# --- together ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["corrected", "printed"])
@pytest.mark.parametrize("system", BEST_ARM_SYSTEMS)
def test_every_system_finds_the_best_arm(system: str, variant: str) -> None:
    # printed Corrupted Elimination takes M from log η: 29 votes and one more
    record = memory.run(spec(system, agents=48, variant=variant), 0)
    assert (record.status, record.best_arm) == ("identified", 0)
    assert record.refused == {}


def test_the_log_adds_up() -> None:
    record = memory.run(spec("mase", agents=32), 0)
    votes = np.array(record.log["votes"])
    assert (np.diff(votes[:, 0]) >= 0).all()
    counts = {k: int((votes[:, 2] == k).sum()) for k in range(10)}
    gone = [int(arm) for _, arm in record.log["eliminations"]]
    assert len(gone) == len(set(gone)) == 9
    assert all(counts[k] >= 5 for k in gone)
    assert len({(agent, arm) for _, agent, arm in record.log["votes"]}) == len(votes)
    assert record.pulls == sum(record.pulls_per_agent) == sum(record.pulls_per_arm)
    assert record.rounds == sum(record.activations_per_agent)
    gaps = 0.7 - np.array([0.7, 0.5, 0.3] + [0.1] * 7)
    assert record.regret == pytest.approx(float(gaps @ record.pulls_per_arm))
    assert record.regret_curve is not None
    assert record.regret_curve[-1] == [record.rounds, pytest.approx(record.regret)]
    data = record.communication.data.kinds
    assert data["Eliminated"].messages % 32 == 0


def test_privacy_spent_is_epsilon_however_many_epochs() -> None:
    close = {"kind": "bernoulli", "means": [0.6, 0.5, 0.1]}
    record = memory.run(spec("dp-mase", agents=16, arms=close, parameters={"epsilon": 0.05}), 0)
    assert record.privacy is not None
    assert max(record.privacy.releases_per_agent) >= 2
    assert max(record.privacy.spent_per_agent) == pytest.approx(0.05)


def test_agents_without_rewards_end_as_no_consensus(tmp_path: Any) -> None:
    for rank in range(6):
        rows = "".join(f"{arm},{arm}\n" for arm in (0, 1) for _ in range(40))
        (tmp_path / f"log-{rank}.csv").write_text("arm,reward\n" + rows)
    run = spec(
        "dp-mase",
        agents=6,
        arms={"kind": "csv", "path": "log-{rank}.csv", "count": 2},
        base=str(tmp_path),
    )
    record = memory.run(run, 0)
    assert record.status == "no_consensus"
    assert sorted(record.exhausted) == list(range(6))
    assert "rewards left" in record.exhausted[0]


@pytest.mark.parametrize(("replace", "words"), [(False, "per record"), (True, "per reward only")])
def test_the_result_says_what_a_guarantee_means_per_record(
    tmp_path: Any, replace: bool, words: str
) -> None:
    rows = "".join(f"{k},{1 - k}\n" for k in (0, 1) for _ in range(2000))
    for rank in range(5):
        (tmp_path / f"log-{rank}.csv").write_text("arm,reward\n" + rows)
    arms = {"kind": "csv", "path": "log-{rank}.csv", "count": 2, "replace": replace}
    run = spec("dp-mase", agents=5, arms=arms, base=str(tmp_path))
    record = memory.run(run, 0)
    assert record.best_arm == 0
    assert record.privacy is not None
    assert words in record.privacy.records


def test_control_traffic_does_not_grow_with_pulls() -> None:
    for epsilon in (0.02, 0.5):
        record = memory.run(spec("dp-mase", agents=64, parameters={"epsilon": epsilon}), 0)
        assert record.privacy is not None
        epochs = sum(record.privacy.releases_per_agent)
        votes, gone = len(record.log["votes"]), len(record.log["eliminations"])
        control = record.communication.control.messages
        assert control <= 3 * (votes + epochs + 64 * gone) + 10 * 64


def test_a_power_law_makes_the_first_agents_busiest() -> None:
    run = spec("central")  # nobody is done before the end
    activity = ActivitySpec(kind="power", gamma=0.8)
    run = prepare(msgspec.structs.replace(run.spec, agents=AgentsSpec(count=32, activity=activity)))
    record = memory.run(run, 0)
    activations = np.array(record.activations_per_agent, dtype=float)
    expected = np.arange(1, 33) ** -0.8
    assert np.corrcoef(activations, expected)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("system", "parameters", "agents", "expected", "tolerance"),
    [
        # rounds on Problem 1; the spread over seeds is a few percent, see docs/best-arm.md
        ("dp-mase", {"epsilon": 0.05}, 64, 88_000, 0.06),
        ("dp-mase", {"epsilon": 0.25}, 64, 40_000, 0.06),
        ("dp-mase", {"epsilon": 0.05}, 256, 344_000, 0.04),
        ("dp-mase", {"epsilon": 0.1}, 256, 173_000, 0.04),
        ("dp-mase", {"epsilon": 0.25}, 256, 154_000, 0.04),
        ("corrupted-elimination", {"xi": 0.0}, 256, 335_000, 0.04),
        ("corrupted-elimination", {"xi": 0.05}, 256, 325_000, 0.05),
        ("corrupted-elimination", {"xi": 0.1}, 256, 308_000, 0.06),
        ("central", {}, 64, 2_050, 0.25),
        ("independent", {}, 64, 64 * 2_050, 0.06),
    ],
)
def test_reference_rounds(
    system: str, parameters: dict[str, Any], agents: int, expected: int, tolerance: float
) -> None:
    run = spec(system, agents=agents, parameters=parameters)
    rounds = np.mean([memory.run(run, number).rounds for number in range(4)])
    assert rounds == pytest.approx(expected, rel=tolerance)


def test_printed_test_that_never_eliminates_is_refused() -> None:
    with pytest.raises(SpecError, match=r"parameters\.xi.*never eliminates"):
        spec("corrupted-elimination", agents=64, variant="printed", parameters={"xi": 0.3})
    spec("corrupted-elimination", agents=64, parameters={"xi": 0.3})
