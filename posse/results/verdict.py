"""The verdict: the one line that says what came of runs, wherever somebody looks at them.

The terminal, pages, comparisons, sweeps, a series under way, audits and the arena show a
`VerdictLine`, which `verdict_line` makes for all of them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Literal

import msgspec

from posse.gates.shown import printable
from posse.measure.confidence import count_apart, mean_of
from posse.measure.numbers import average, capital, counted, listed, named, number, total
from posse.measure.traffic import RESENT
from posse.protocol.privacy import format_cost
from posse.results.measures import DATA_BYTES, DATA_MESSAGES, REGRET, REWARDS
from posse.results.record import RunRecord

Troubles = tuple[tuple[str, str], ...]
"""What went wrong: a label and a sentence each."""

State = Literal["done", "partial", "failed", "under way"]


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True):
    """What came of runs.

    - `state`: whether all runs that were asked for are there
    - `sentence`: the answer, or what stands in its way
    - `clear`: whether the sentence names an answer that chance does not explain
    - `cost`, `epsilon`: what was sent and what was promised, a few words each
    - `losses`: every trouble, by its label
    - `regret_share`: regret as a share of random play's, where that is known
    """

    state: State
    sentence: str
    clear: bool = True
    cost: str = ""
    epsilon: str = ""
    losses: Troubles = ()
    regret_share: str = ""

    @property
    def line(self) -> str:
        """All of it in a line."""
        parts = [f"{self.state}: {self.sentence}", self.cost, self.epsilon]
        parts += [label for label, _ in self.losses]
        return " · ".join(filter(None, parts))


def verdict_line(
    found: Sequence[tuple[str, bool]],
    *,
    about: str = "",
    failure: str = "",
    under_way: str = "",
    missing: str = "",
    **told: Any,
) -> VerdictLine:
    """The verdict on any kind of result: `found`, `about` something, and whether each is clear.

    What matters most comes first: the `failure` that ended it, then what is `under_way`, then what
    is `missing`, then what is not clear, then the answer. `told` are the line's other fields.
    """
    said = "; ".join(one for one, _ in sorted(found, key=itemgetter(1)))
    answer = f"{about}{said}" if said else ""
    firsts: tuple[tuple[State, str, str], ...] = (
        ("partial" if answer else "failed", failure, ". Until then: "),
        ("under way", under_way, ". Until now: "),
        ("partial", missing, ": "),
    )
    state, first, then = next((one for one in firsts if one[1]), ("done", "", ""))
    return VerdictLine(
        state=state,
        sentence=then.join(filter(None, (first, answer))),
        clear=bool(found) and all(clear for _, clear in found) and state == "done",
        **told,
    )


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run because the lab knows its means.

    `random_regret` is the regret of agents that pull at random as often. `own_best` says how many
    agents of how many answered the arm that is best by their own means.
    """

    random_regret: float | None = None
    own_best: tuple[int, int] | None = None


UNKNOWN = Truth()


def verdict(
    runs: Sequence[RunRecord],
    *,
    asked: int,
    anew: bool = False,
    truths: Sequence[Truth] = (),
    failure: str | None = None,
    under_way: str = "",
    warnings: Sequence[str] = (),
    names: Sequence[str] = (),
) -> VerdictLine:
    """The verdict on a series of which `asked` runs were wanted and these are complete.

    `anew`: whether each run drew arms of its own. `failure` says why the series ended early, and
    `under_way` what goes on if it has not ended.
    """
    done = f"{len(runs)} of {counted(asked, 'run')}"
    after = f"Stopped after {done}" if runs else "Failed"
    return verdict_line(
        [_answer(runs, anew, truths, names)] if runs else [],
        failure="" if failure is None else f"{after}: {failure.rstrip('.')}",
        under_way=under_way,
        missing=f"{done} ended" * (len(runs) < asked),
        cost=_cost(runs),
        epsilon=_epsilon(runs),
        losses=losses(runs, warnings),
        regret_share=share_of_random(runs, truths),
    )


def drawn_anew(specification: dict[str, Any]) -> bool:
    """Whether each run of a specification, as plain data, draws the means of its arms itself."""
    means = specification.get("arms", {}).get("means")
    return isinstance(means, dict) and means.get("seed") is None


def named_arm(arm: int, names: Sequence[str]) -> str:
    """An arm by its number, and by its name if it has one."""
    return f"arm {arm} ({printable(names[arm])})" if names else f"arm {arm}"


def arm_names(specification: dict[str, Any]) -> Sequence[str]:
    """The names of a specification's arms; empty if they have none."""
    return specification.get("arms", {}).get("names") or ()


def _answer(
    runs: Sequence[RunRecord], anew: bool, truths: Sequence[Truth], names: Sequence[str]
) -> tuple[str, bool]:
    """What the runs found, without whom, and whether they agree."""
    said, clear = _agreed(runs, anew, truths, names)
    return "; ".join(filter(None, (said, _without(runs)))), clear


def _agreed(
    runs: Sequence[RunRecord], anew: bool, truths: Sequence[Truth], names: Sequence[str]
) -> tuple[str, bool]:
    """What the runs found, and whether they agree."""
    arms = Counter(run.best_arm for run in runs if run.best_arm is not None)
    rights = [run.right for run in runs if run.right is not None]
    if arms and anew and len(runs) > 1:
        if rights:
            share = _of(sum(rights), len(runs))
            return f"The best arm was found in {share}, each on arms of its own", all(rights)
        named_one = _of(arms.total(), len(runs))
        return f"An arm was named in {named_one}, each on arms of its own", True
    if arms:
        return _named_arm(runs, arms, rights, names)
    owns = [truth.own_best for truth in truths if truth.own_best is not None]
    if owns:
        hits = total(mean_of([float(good) for good, _ in owns]).mean)
        often = f", on average over {len(owns)} runs" * (len(owns) > 1)
        return f"{hits} of {owns[0][1]} users settled on the arm best for them{often}", True
    if settled := {arm for run in runs for arm in run.answers if arm is not None}:
        ended = [float(sum(arm is not None for arm in run.answers)) for run in runs]
        agents = total(mean_of(ended).mean)
        return f"{agents} of {len(runs[0].answers)} agents named {_arms(settled)}", True
    if not any(run.answered for run in runs):
        return f"No answer in {counted(len(runs), 'run')}: {why_no_answer(runs[-1])}", False
    if regrets := _values(runs, REGRET.read):
        share = share_of_random(runs, truths)
        said = f"Regret {average(regrets)}" + f", {share}" * bool(share)
        return f"{said}, in {counted(len(regrets), 'run')}", True
    if rewards := _values(runs, REWARDS.read):
        pulled = sum(run.pulls or 0 for run in runs if run.rewards is not None)
        each = f", {number(sum(rewards) / pulled)} a pull" if pulled else ""
        return f"Rewards {average(rewards)}{each}, in {counted(len(rewards), 'run')}", True
    ends = ", ".join(dict.fromkeys(run.status for run in runs))
    sought = runs[-1].sought
    return f"No arm was named in {counted(len(runs), 'run')} ({sought or ends})", bool(sought)


def _named_arm(
    runs: Sequence[RunRecord],
    arms: "Counter[int]",
    rights: Sequence[bool],
    names: Sequence[str],
) -> tuple[str, bool]:
    """Which arm most runs named, and whether that is more than half of them."""
    (arm, hits), *others = arms.most_common()
    if others and (2 * hits <= len(runs) or others[0][1] == hits):
        each = listed([f"{named_arm(k, names)} in {n}" for k, n in arms.most_common()])
        right = f"; right in {sum(rights)} of {len(rights)}" if rights else ""
        return f"The {len(runs)} runs do not agree: {each}{right}", False
    ends = {run.status for run in runs if run.best_arm == arm}
    likely = "likeliest, without consensus" if ends == {"no_consensus"} else "best"
    says = "says" if hits == len(runs) == 1 else "say"
    found = f"{capital(named_arm(arm, names))} is the {likely}, {says} {_of(hits, len(runs))}"
    if wrong := len(rights) - sum(rights):
        found += f"; the truth is another arm in {wrong}" if sum(rights) else "; that is wrong"
    return found, ends != {"no_consensus"}


def _arms(arms: "set[int]") -> str:
    return f"arm {min(arms)}" if len(arms) == 1 else f"{len(arms)} different arms"


def _of(hits: int, runs: int) -> str:
    if runs == hits == 1:
        return "the one run"
    return f"all {runs} runs" if hits == runs else f"{hits} of {runs} runs"


def _without(runs: Sequence[RunRecord]) -> str:
    """How many runs went on without whom."""
    gone = [run for run in runs if run.without]
    if not gone:
        return ""
    agents = sorted({agent for run in gone for agent in run.without})
    shared = agents == [-1]
    who = "its rewards to the end" if shared else named(agents)
    return f"{len(gone)} of them without {who}" if len(runs) > 1 else f"it went without {who}"


def share_of_random(runs: Sequence[RunRecord], truths: Sequence[Truth]) -> str:
    """Regret as a share of what random play has, where that is known; "" elsewhere."""
    pairs = [
        (run.regret, truth.random_regret)
        for run, truth in zip(runs, truths, strict=False)
        if run.regret is not None and truth.random_regret
    ]
    if not pairs:
        return ""
    share = sum(regret for regret, _ in pairs) / sum(chance for _, chance in pairs)
    return f"{100 * share:.3g} % of random play's"


def _values(runs: Sequence[RunRecord], read: Callable[[RunRecord], float | None]) -> list[float]:
    return [float(value) for run in runs if (value := read(run)) is not None]


def _cost(runs: Sequence[RunRecord]) -> str:
    """What a run sent on average: the paper's own messages, and those with shared arms."""
    messages = _values(runs, DATA_MESSAGES.read)
    if not messages:
        return "what agents sent each other is not known" if runs else ""
    world = [float(run.communication.world.messages or 0) for run in runs]
    if any(world) and not any(messages):
        return f"{total(mean_of(world).mean)} messages with the shared arms a run"
    sent = total(mean_of(_values(runs, DATA_BYTES.read)).mean)
    return f"{sent} bytes in {total(mean_of(messages).mean)} messages a run"


def _epsilon(runs: Sequence[RunRecord]) -> str:
    """The number that was promised; that nothing was, if so."""
    if not runs:
        return ""
    privacy = next((run.privacy for run in runs if run.privacy is not None), None)
    if privacy is None or privacy.claim.mechanism == "none":
        return "nothing is protected"
    claim = privacy.claim
    promised = f"protected by {claim.mechanism}"
    if claim.epsilon is not None:
        promised = format_cost(claim.epsilon, claim.delta)
    return promised if claim.holds else f"{promised}, which does not hold"


def losses(runs: Sequence[RunRecord], warnings: Sequence[str] = ()) -> Troubles:
    """Every trouble of these runs, a label and a sentence each, in the order of `TROUBLES`."""
    troubles = [(label, sentence) for label, tell in TROUBLES.items() if (sentence := tell(runs))]
    return (*troubles, *(("warning", warning) for warning in (*warnings, *_far_apart(runs))))


def _far_apart(runs: Sequence[RunRecord]) -> list[str]:
    """The warning that few runs are far from the others, if so."""
    values = sorted(_values(runs, REGRET.read))
    if not (apart := count_apart(values)):
        return []
    *_, below, least = values[: len(values) - apart + 1]
    return [
        f"regret is {total(least)} or more in {apart} of {counted(len(values), 'run')}, and from "
        f"{total(values[0])} to {total(below)} in the others: its interval assumes that runs show "
        "what can happen, and so few do not; set a larger repeat"
    ]


def _no_answer(runs: Sequence[RunRecord]) -> str:
    without = [run for run in runs if not run.answered]
    each = [f"run {run.run + 1}: {why_no_answer(run)}" for run in without]
    return f"{len(without)} of {counted(len(runs), 'run')}; {listed(each)}" if without else ""


def why_no_answer(run: RunRecord) -> str:
    """Why a run ended without an answer."""
    if run.status == "exhausted":
        return "the rewards were used up first"
    missed = gone(run)
    return f"it could not go on without {missed}" if missed else "too few agents were left"


def gone(run: RunRecord) -> str:
    """The agents that a run continued without, and why."""
    return ", ".join(f"agent {rank} ({why})" for rank, why in sorted(run.dismissed.items()))


def _loss(runs: Sequence[RunRecord]) -> str:
    """What the absences did to the answer and to the claims."""
    return " ".join(dict.fromkeys(run.loss for run in runs if run.loss))


def _used_up(runs: Sequence[RunRecord]) -> str:
    agents = {agent for run in runs for agent in run.exhausted}
    if not agents:
        return ""
    who = "the shared arms" if agents == {-1} else named(sorted(agents - {-1}))
    in_runs = sum(bool(run.exhausted) for run in runs)
    loss = _loss([run for run in runs if run.exhausted])
    said = f"{who} ran out of rewards in {in_runs} of {counted(len(runs), 'run')}. {loss}"
    return said.rstrip()


def _missing(runs: Sequence[RunRecord]) -> str:
    absent = sorted({(absence.agent, absence.why) for run in runs for absence in run.missing})
    if not absent:
        return ""
    away = listed([f"agent {agent} ({why})" for agent, why in absent])
    return f"{away}. {_loss([run for run in runs if run.missing])}".rstrip()


def _dismissed(runs: Sequence[RunRecord]) -> str:
    """Those that were left out for another reason than that they were lost."""
    proven = sorted({agent for run in runs for agent in run.proofs})
    parts = []
    if proven:
        signed = "signed two values for one round, as `proofs` in the result shows"
        parts.append(f"{named(proven)} {signed}")
    others = sorted(
        {
            (agent, why)
            for run in runs
            for agent, why in run.dismissed.items()
            if agent not in run.proofs and agent not in {absence.agent for absence in run.missing}
        }
    )
    parts += [listed([f"agent {agent} ({why})" for agent, why in others])] if others else []
    return "; ".join(parts)


def _left_early(runs: Sequence[RunRecord]) -> str:
    left = {agent for run in runs for agent in run.detail.left_early if agent not in run.without}
    return f"{named(sorted(left))}, by the system's own rules" if left else ""


def _restarts(runs: Sequence[RunRecord]) -> str:
    times: Counter[int] = sum((Counter(run.restarts) for run in runs), Counter())
    return listed([f"agent {agent} ({counted(n, 'time')})" for agent, n in sorted(times.items())])


def _resent(runs: Sequence[RunRecord]) -> str:
    kinds = (run.communication.control.kinds.get(RESENT) for run in runs)
    again = sum((kind.messages or 0) for kind in kinds if kind is not None)
    return f"{again:,} frames, after connections were lost" if again else ""


def _refused(runs: Sequence[RunRecord]) -> str:
    refused: Counter[str] = sum((Counter(run.refused) for run in runs), Counter())
    return ", ".join(f"{n} {reason}" for reason, n in refused.items())


TROUBLES: dict[str, Callable[[Sequence[RunRecord]], str]] = {
    "no answer": _no_answer,
    "used up": _used_up,
    "missing": _missing,
    "dismissed": _dismissed,
    "left early": _left_early,
    "started again": _restarts,
    "sent again": _resent,
    "refused": _refused,
}
"""By label: what is to be said of that trouble, "" if there was none."""


def alerts(line: VerdictLine) -> list[str]:
    """The losses as sentences for a page."""
    return [f"{capital(label)}: {sentence}" for label, sentence in line.losses]
