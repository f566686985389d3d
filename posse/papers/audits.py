"""The papers' mechanisms audited, corrected and printed: who spends more than it says."""

from functools import partial
from typing import Any

import numpy as np

from agent.cooperative import PrivateMeans
from agent.federated import CdpAgent
from agent.hybrid import HybridSums
from agent.mase import DpMaseVoter
from agent.noise import SeededNoise
from posse.errors import PosseError
from posse.papers import dubey, li, rio, tossou
from posse.papers.audit import ERROR, audit, counted, numpy_adds, points, seed, spends
from posse.papers.base import (
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    cannot,
    numbers,
    value,
)
from posse.report.numbers import number
from posse.results.cooperative import CooperativeDetail
from posse.results.record import RunRecord
from protocol.cooperative import privacy_bound, release_counts
from protocol.federated import Means, Schedule
from protocol.machine import Pull, Pulled, Send, Started
from protocol.mase import epoch_length, epoch_radius

_ASSUMED = (
    f"Error rate of an audit {ERROR:g}; 20,000 releases on each input (quick) or 200,000. The "
    "machines are the real ones."
)


def dp_mase(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float, change: float
) -> dict[str, Any]:
    """The vote of DP-MASE's first epoch when one reward changes by `change`.

    Two arms, whose sums lie three scales of the noise short of a vote. S: a vote is sent.
    """
    noise, beta = SeededNoise(seed(generator)), 0.5
    pulls = epoch_length(2, 1, beta, epsilon)
    width = 2 * epoch_radius(2, 1, beta, epsilon, pulls)
    short = width - 3 / (epsilon * pulls)

    def release(changed: bool) -> bool:
        voter = DpMaseVoter(2, beta, epsilon, variant, noise)
        voter.handle(Started(), 0.0)
        sums = np.array([short * pulls + change * changed, 0.0])
        effects = voter.handle(Pulled((0, 1), pulls, sums), 0.0)
        return any(isinstance(effect, Send) for effect in effects)

    return audit(trials, release, epsilon)


def hybrid(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float, split: Any
) -> dict[str, Any]:
    """The hybrid mechanism's sums of 0, 0, x, 0 for x = 1 and x = 0.

    x is in one node of the first tree and in the doubling at t = 4. S: both releases exceed the one
    before x by more than 1. For `half` the probabilities' ratio is e^ε exactly.
    """
    noise = SeededNoise(seed(generator))

    def release(changed: bool) -> bool:
        sums = HybridSums(1, epsilon, split, noise)
        _, before, node, doubled = (
            float(sums.insert(0, x)[0]) for x in (0.0, 0.0, float(changed), 0.0)
        )
        return node - before > 1 and doubled - before > 1

    return audit(trials, release, epsilon)


def cdp(
    variant: Any, generator: np.random.Generator, trials: int, agents: int, epsilon: float,
    reading: Any, claimed: float,
) -> dict[str, Any]:  # fmt: skip
    """The first means that an agent of CDP-MAB sends. S: the mean exceeds the larger true one."""
    noise = SeededNoise(seed(generator))
    schedule = Schedule(arms=2, senders=agents, horizon=10_000, epsilon=epsilon, noise=reading)

    def release(changed: bool) -> bool:
        agent = CdpAgent(2, schedule, noise)
        (pull,) = (e for e in agent.handle(Started(), 0.0) if isinstance(e, Pull))
        sums = np.array([float(changed), 0.0])
        effects = agent.handle(Pulled(pull.arms, pull.times, sums), 0.0)
        (sent,) = (e.message for e in effects if isinstance(e, Send))
        assert isinstance(sent, Means)
        return float(np.frombuffer(sent.means, dtype="<f8")[0]) > 1 / pull.times

    return audit(trials, release, claimed)


_DELTA = float(np.exp(-10))


def private_ucb(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float
) -> dict[str, Any]:
    """Private Multi-Agent UCB, two arms, first rewards x and 1/2. S: the arm of x is chosen third.

    The counts that are sent after the third slot say which arm that was.
    """
    noise, ties = SeededNoise(seed(generator)), seed(generator)
    releases = release_counts(epsilon, 1.1, 3)

    def release(changed: bool) -> bool:
        agent = PrivateMeans(
            2, 1, ties, epsilon=epsilon, variant=variant, noise=noise, releases=releases
        )
        first = agent.choose(1)
        agent.learn(first, float(changed))
        agent.learn(agent.choose(2), 0.5)
        agent.learn(third := agent.choose(3), 0.0)
        counts = agent.says()["counts"][0]
        return bool(third == first and counts[first] > 1)

    return audit(trials, release, privacy_bound(epsilon, 1.1, 3, _DELTA), _DELTA)


def numpy_noise(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float
) -> dict[str, Any]:
    """Numpy's Laplace noise on 1 and on 0. S: no draw of numpy's makes the release from 0."""
    noise = SeededNoise(seed(generator))

    def hits(true: float) -> int:
        released = noise.noisy(np.full(trials, true), 1.0, epsilon)
        return sum(not numpy_adds(0.0, float(y), 1 / epsilon) for y in released)

    return counted(hits(1.0), hits(0.0), trials, epsilon)


def field_noise(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float
) -> dict[str, Any]:
    """The field's noise, looked at in the same way."""
    from posse.security.noise import FieldNoise  # noqa: PLC0415

    try:
        noise = FieldNoise()
    except PosseError as error:
        return {"missing": str(error), "value": None}

    def hits(true: float) -> int:
        released = noise.noisy(np.full(trials, true), 1.0, epsilon)
        return sum(not numpy_adds(0.0, float(y), 1 / epsilon) for y in released)

    return counted(hits(1.0), hits(0.0), trials, epsilon)


def _field_spends(measured: Measured) -> Finding:
    detail = numbers(measured.runs["python-dp", 0.0][0])
    if "missing" in detail:
        return Finding(answer="cannot be", evidence=detail["missing"])
    return spends("", "python-dp").check(measured)


def _ledger(measured: Measured) -> Finding:
    """What DP-UCB-INT's releases cost, composed, against its claim."""
    record = measured.runs["DP-UCB-INT", 0.0][0]
    spent, claimed = _composed(record)
    return Finding(
        answer="not borne out" if spent > claimed else "borne out",
        evidence=f"The ledger of the agent that spent most adds up to ε' = {number(spent)} at "
        f"δ' = e^-10; claimed {number(claimed)}",
    )


def _composed(record: RunRecord) -> tuple[float, float]:
    """ε' of the agent that spent most, and ε as claimed."""
    assert isinstance(record.detail, CooperativeDetail)
    assert record.detail.epsilon_prime_per_agent
    assert record.privacy is not None
    assert record.privacy.claim.epsilon is not None
    return max(record.detail.epsilon_prime_per_agent), record.privacy.claim.epsilon


def _spent(record: RunRecord) -> float | None:
    if record.status == "computed":
        return value(record)
    spent, claimed = _composed(record)
    return spent / claimed


_CDP = (4, 0.5)


def _dubey_points(quick: bool) -> list[Point]:
    alone = {
        "system": "dp-ucb-int",
        "agents": {"count": 4},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
        "parameters": {"horizon": 2000, "epsilon": 0.1},
    }
    audits = points({"private-ucb": (private_ucb, 1.0)})(quick)
    return [*audits, Point(line="DP-UCB-INT", x=0.0, run=alone)]


_audit = partial(
    Experiment,
    x_label="mechanism",
    y_label="share of the claimed ε that was found",
    repeat=(1, 1),
    limit=1.0,
    shape="bars",
    metric=value,
)

EXPERIMENTS = (
    _audit(
        name="rio-audit",
        paper=rio.PAPER,
        figure="Theorem 4.1",
        title="How much privacy DP-MASE spends",
        points=points({
            "DP-MASE": (dp_mase, 1.0, 1.0),
            "DP-MASE, Gaussian rewards": (dp_mase, 1.0, 10.0),
        }),
        assumed=f"{_ASSUMED} ε = 1, the first epoch; a Gaussian reward may change by any number, "
        "here by 10 (posse itself refuses such arms unless they are clipped).",
        statements=(
            spends("DP-MASE is ε-differentially private, rewards in [0, 1].", "DP-MASE"),
            spends("And on Problem 2, whose rewards are Gaussian.", "DP-MASE, Gaussian rewards"),
        ),
    ),
    _audit(
        name="dubey-audit",
        paper=dubey.PAPER,
        figure="Theorem 3.5, Lemma 3.6",
        title="How much privacy cooperation and its baseline spend",
        points=_dubey_points,
        metric=_spent,
        assumed=f"{_ASSUMED} Three slots at ε = 1, K = 2, first rewards (x, 1/2); claimed is Lemma "
        "3.6's ε' at δ' = e^-10. DP-UCB-INT: 2,000 slots at ε = .1, by its ledger.",
        agreement={
            "system": "dp-ucb-int",
            "agents": {"count": 2},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
            "parameters": {"horizon": 200, "epsilon": 0.1},
        },
        statements=(
            spends("What an agent sends is (ε', δ')-differentially private.", "private-ucb"),
            Statement(text="DP-UCB-INT spends no more than Lemma 3.6 says.", check=_ledger),
        ),
    ),
    _audit(
        name="tossou-audit",
        paper=tossou.PAPER,
        figure="Theorem 1",
        title="How much privacy the hybrid mechanism spends",
        points=points({
            "split in half": (hybrid, 1.0, "half"),
            "the authors' code": (hybrid, 1.0, "tossou"),
        }),
        assumed=f"{_ASSUMED} The sums of four rewards, ε = 1.",
        statements=(
            spends("The sums are ε-differentially private, ε split in half.", "split in half"),
            spends("And with ε in both parts and the natural logarithm, as the authors' code has "
                   "it.", "the authors' code"),
            cannot("Corollary 3: the actions of all M players together are M ε-private.",
                   "With samples of their own players never react to each other, so that ε holds; "
                   "for shared samples M ε is an upper bound that needs M players to collide in "
                   "every slot, which TDFS avoids."),
        ),
    ),
    _audit(
        name="li-audit",
        paper=li.PAPER,
        figure="Theorem 1",
        title="How much privacy CDP-MAB spends",
        x_label="claim",
        points=points({
            "as printed, ε": (cdp, *_CDP, "printed", 0.5),
            "as printed, M ε": (cdp, *_CDP, "printed", 2.0),
            "noise per agent, ε": (cdp, *_CDP, "per_agent", 0.5),
        }),
        assumed=f"{_ASSUMED} M = 4, ε = .5, the first message of one agent.",
        statements=(
            spends("An agent's messages are ε-differentially private, ε the printed symbol.",
                   "as printed, ε"),
            spends("They are M ε-differentially private (what is proved).", "as printed, M ε"),
            spends("With noise Lap(1/(ε d)) they are ε-private.", "noise per agent, ε"),
        ),
    ),
    _audit(
        name="noise-bits",
        paper="The noise itself",
        figure="Mironov 2012",
        title="What the low bits of a noisy number tell",
        x_label="source",
        points=points({"numpy": (numpy_noise, 1.0), "python-dp": (field_noise, 1.0)}),
        assumed=f"{_ASSUMED} 1 or 0 with Laplace noise of scale 1, ε = 1. S: no uniform number of "
        "numpy's leads from 0 to the release. python-dp's draws cannot be seeded, so its counts "
        "differ from run to run.",
        statements=(
            spends("A number with a draw of numpy's Laplace law is ε-private (the lab).", "numpy"),
            Statement(text="A number noised by python-dp is ε-private (the field).",
                      check=_field_spends),
        ),
    ),
)  # fmt: skip
