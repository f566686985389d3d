"""The audit of a plan: choose the data sets, learn the event, give the verdict."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter

import msgspec
import numpy as np

from posse.arms.live import rehearsed
from posse.audit.bounds import ERROR, most_shown, runs_to_refute
from posse.audit.coupling import COUPLED, Coupling, run_coupled
from posse.audit.event import ViewTable, align, learn, require_scikit
from posse.audit.guess import Guess, guess_best_arm
from posse.audit.judge import AuditVerdict, judge
from posse.audit.neighbours import exchange_rewards, propose_cases
from posse.audit.one_run import OneRun, estimate, needed
from posse.audit.replay import ApartError
from posse.audit.search import SearchOutcome, search
from posse.audit.trials import SIZE, Bench
from posse.audit.view import Adversary, EnoughSeen, sees_only_ends
from posse.engines import memory
from posse.engines.start.room import cores
from posse.errors import InputError, RunFailed, SpecError
from posse.hosts.spending import keep_none
from posse.measure.numbers import capital, number
from posse.plan import Plan
from posse.progress import duration
from posse.protocol.privacy import AdversaryView, Neighbours, format_cost
from posse.results.verdict import VerdictLine, verdict_line
from posse.system.reading import Recorder
from posse.wire.sources import of_this_machine
from posse.wire.world import HERE

RUNS = 4_000
"""Default number of runs on each of the two data sets."""

_PILOT = 200
"""Runs to try each case with, but no more than the audit makes."""

_MOST_NUMBERS = 256
"""The most numbers kept of a run; if there are more, those by which the first runs differ most."""

_LOOKS = 3
"""Runs in which every sum that the coordinator could form is checked."""

_FIRST = 1 << 20
"""The number of the first run to learn from; runs below it choose the case."""

_TRIED = 1 << 22
"""The number of the first run that only says how long a run takes."""

_NUMBER = 200
"""Bytes of one number of a run, with its name."""

AUDIT = "audit.json"
"""The file of a `Document`."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What `posse audit --json` prints: what was audited, and what was found.

    `coupling` and `search` are None where coupled runs tell nothing, `one_run` where guessing
    canaries takes more runs than counting. `verdict` or `guess` is what was counted; neither,
    unless it was asked for or there is nothing else.
    """

    system: str
    variant: str
    claim: str
    sees: AdversaryView
    watched: int = 1
    word: str
    says: str
    words: str
    verdict: AuditVerdict | None
    guess: Guess | None
    hopeless: str = ""
    noise: str = ""
    coupling: Coupling | None = None
    search: SearchOutcome | None = None
    one_run: OneRun | None = None

    @property
    def finding(self) -> bool:
        """Whether the claim is refuted, or a ledger adds up to more than is claimed."""
        return self.word == "refuted" or (self.verdict is not None and self.verdict.overspent)

    @property
    def verdict_line(self) -> VerdictLine:
        """The verdict as terminal and page begin with it, with every trouble by its label."""
        found, v = "", self.verdict
        if v is not None:
            claimed = "" if v.claimed is None else f", claimed {format_cost(v.claimed, v.delta)}"
            found = f"ε is at least {number(v.lower_bound)}{claimed}"
        elif self.guess is not None:
            found = self.guess.says.removesuffix(f"; {self.word}")
        elif self.one_run is not None:
            found = f"ε is at least {number(self.one_run.lower_bound)}"
        elif self.word == "not refuted":
            found = "coupled runs found nothing against it, and nothing was counted"
        violations = [*(self.coupling.violations if self.coupling is not None else ())]
        violations += self.search.violations if self.search is not None else ()
        violations += v.violations if v is not None else ()
        troubles = [("violation", violation) for violation in dict.fromkeys(violations)]
        if v is not None and v.overspent and v.spent is not None and v.claimed is not None:
            over = f"ε = {number(v.spent)} in the run that spent most, more than "
            troubles.append(("overspent", f"{over}{number(v.claimed)}"))
        if self.hopeless:
            troubles.append(("no power", self.hopeless))
        said = f"{capital(self.word)}: {found or 'what was seen breaks the claim'}"
        return verdict_line(
            [(said, self.word == "refuted")],
            losses=tuple(troubles),
        )

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The rows of the table for people."""
        line = self.verdict_line
        noise = f"the field's, by {self.noise}" if self.noise else "the lab's, by numpy"
        seen = _SEEN[self.sees]
        if self.watched > 1:
            seen = f"the messages of {self.watched} agents"
        rows = [(line.state, line.sentence), ("claim", self.claim), ("seen", seen)]
        rows.append(("noise", noise))
        if self.coupling is not None:
            rows.append(("carried out", self.coupling.says))
        if self.search is not None:
            rows.append(("searched", self.search.says))
        if (guessed := self.one_run) is not None:
            shows = f"twice the claimed ε would show with probability {guessed.power:.2g}"
            rows += [("guessed", guessed.says), ("power", shows)]
        if (v := self.verdict) is None:
            rows += [("event", self.words)] if self.words else []
            return [*rows, *line.losses]
        counts = (
            f"the event was seen in {v.hits:,} of {v.trials:,} runs on one data set, "
            f"in {v.others:,} on the other"
        )
        rows += [
            ("found", f"ε is at least {number(v.lower_bound)}: {counts}"),
            ("event", self.words),
        ]
        if v.delta_lower_bound > v.delta and v.claimed is not None:
            rows.append(("δ", f"at least {number(v.delta_lower_bound)} at ε = {number(v.claimed)}"))
        if v.needed is not None and not v.refuted:
            often = f"about {v.needed:,} runs on each data set"
            rows.append(("power", f"by such an event twice the claimed ε would show in {often}"))
        elif not v.refuted and v.claimed:
            rows.append(("power", "no power known: nothing seen tells the data sets apart"))
        if v.spent is not None and v.claimed is not None:
            rows.append(("ledger", f"ε = {number(v.spent)} in the run that spent most"))
        rows += line.losses
        if v.case is not None:
            rows.append(("data", v.case.says))
        return rows


_SEEN: dict[AdversaryView, str] = {
    "messages": "all messages",
    "agent": "the messages of one agent",
    "coordinator": "what the coordinator sends and is sent, and sums of masked reports",
    "pulls": "all messages and all pulls",
}


@dataclass(frozen=True, kw_only=True)
class Audit(Bench):
    """A request for an audit: `runs` on each data set, half of them for learning; 0: none.

    `budget`: seconds in which data sets, losses and lies are drawn, on each core; 0: none are.
    `epsilon`, `delta`, `sees` and `cases` replace the claim's numbers, its adversary's view, and
    the data sets. `if_refuted`: the runs are made even if coupled runs have refuted the claim.
    """

    runs: int = RUNS
    if_refuted: bool = False
    budget: float = 0.0
    error: float = ERROR
    epsilon: float | None = None
    delta: float | None = None
    sees: AdversaryView | None = None
    cases: Sequence[Neighbours] = ()

    @property
    def view(self) -> AdversaryView:
        """What the adversary sees."""
        return self.sees or self.plan.reward_claim.sees

    @property
    def claimed(self) -> float | None:
        """The claimed ε, or None."""
        return self.epsilon if self.epsilon is not None else self.plan.reward_claim.epsilon

    @property
    def tested_delta(self) -> float:
        """The δ that is tested, the claim's unless another was asked for."""
        return self.delta if self.delta is not None else self.plan.reward_claim.delta or 0.0

    @property
    def guesses(self) -> bool:
        """Whether the claim is about how often the best arm is named, not about ε."""
        return self.claimed is None and self.plan.reward_claim.guess is not None

    @property
    def exchanges(self) -> bool:
        """Whether the claim is about sums, which must not show who reported what."""
        return self.epsilon is None and self.plan.reward_claim.mechanism == "aggregation"

    @property
    def tried(self) -> list[Neighbours]:
        """The data sets to try."""
        if not self.cases:
            return propose_cases(self.plan)
        if self.exchanges:
            return [exchange_rewards(self.plan, case) for case in self.cases]
        return list(self.cases)

    @property
    def _pilot(self) -> int:
        return min(_PILOT, self.runs)

    @property
    def pieces(self) -> int:
        """How many pieces of work the audit takes."""
        if not self.runs:
            return 0
        if self.guesses:
            return 2 * -(-(self.runs // 2) // SIZE)
        tried = len(self.tried) * -(-self._pilot // SIZE)
        return 2 * (2 * -(-(self.runs // 2) // SIZE) + tried)

    @property
    def forecast(self) -> str:
        """How many runs it takes at most, about how long, and in how much memory: by two runs."""
        sources = replace(of_this_machine(lambda: 0), entering=keep_none, arms=rehearsed)
        times = []
        for run in (_TRIED, _TRIED + 1):
            seen = Adversary(self.plan, self.view, 0, self.watched)
            times.append(time.monotonic())
            with suppress(EnoughSeen):
                memory.run(self.plan, run, tap=seen, sources=sources)
        each = time.monotonic() - times[-1]
        alone = COUPLED if self.noise and self.claimed and not self.exchanges else 0
        jobs = self.jobs or cores()
        counted = self.pieces * SIZE
        seconds = each * (alone + max(counted / jobs, 2 * self.runs * bool(alone)))
        seconds += self.budget * bool(alone)
        kept = _NUMBER * len(seen.numbers) * max(SIZE * jobs, 2 * _PILOT, alone)
        size = HERE.memory()[0] + kept + 8 * _MOST_NUMBERS * 2 * self.runs
        return (
            f"at most about {alone + max(counted, 2 * self.runs * bool(alone)):,} runs of "
            f"{number(each)} s: {duration(seconds)} at most, and {size / 1e6:,.0f} MB"
        )

    def document(self) -> Document:
        """The verdict, with what was audited."""
        plan, coupling = self.plan, self.coupling()
        violations = [] if coupling is None else coupling.violations
        searched, one_run = None, None
        if coupling is not None and not violations and self.budget:
            searched = search(
                plan,
                self.view,
                self.claimed or 0.0,
                self.tested_delta,
                self.budget,
                self.watched,
                self.jobs,
            )
            violations = searched.violations
        if coupling is not None and not violations and self.runs:
            try:
                one_run = self._one_run()
            except ApartError as error:  # these are coupled runs, too
                violations = [str(error)]
                coupling = msgspec.structs.replace(coupling, violations=violations)
        enough = bool(violations) or one_run is not None
        counts = bool(self.runs) and (self.if_refuted or not enough)
        verdict = self.verdict() if counts else None
        refuted = bool(violations) or (
            one_run is not None and one_run.lower_bound > (self.claimed or 0)
        )
        if verdict is not None:
            word, says, words = verdict.word, verdict.says, verdict.words
            word = "refuted" if refuted else word
        elif coupling is None:
            raise SpecError(
                "--runs", f"is 0, but coupled runs tell nothing of {plan.spec.system}; leave it out"
            )
        else:
            word, words = "refuted" if refuted else "not refuted", ""
            alone = (
                "coupled runs found nothing against the claim" if one_run is None else one_run.says
            )
            says = (violations or [alone])[0]
        return Document(
            system=plan.spec.system,
            variant=plan.spec.variant,
            claim=plan.reward_claim.says,
            sees=self.view,
            watched=self.watched,
            word=word,
            says=says,
            words=words,
            verdict=verdict if isinstance(verdict, AuditVerdict) else None,
            guess=verdict if isinstance(verdict, Guess) else None,
            hopeless=self.hopeless if counts else "",
            noise=self.noise,
            coupling=coupling,
            search=searched,
            one_run=one_run,
        )

    def coupling(self) -> Coupling | None:
        """What coupled runs find of a claim of ε; None without the field's noise."""
        self.require()
        if not self.noise or self.claimed is None or self.exchanges or self.guesses:
            return None
        return run_coupled(self.plan, self.view, self.claimed, self.tested_delta, self.watched)

    def _one_run(self) -> OneRun | None:
        """What guessing canaries finds; None if it takes more runs than counting."""
        delta, most = self.tested_delta, 2 * self.runs
        return estimate(self.plan, self.view, self.claimed or 0.0, delta, most, self.error)

    @property
    def hopeless(self) -> str:
        """A sentence if this many runs can refute the claim by no event; "" if they can."""
        claimed, delta = self.claimed, self.tested_delta
        if (
            claimed is None
            or not self.runs
            or (most := most_shown(self.runs, delta, self.error)) > claimed
        ):
            return ""
        enough = runs_to_refute(claimed, delta, self.error)
        could = f"--runs {enough} could" if enough is not None else "no number of runs could"
        if self.noise and not self.if_refuted and needed(claimed, delta, self.error):
            could += ", and guessing canaries may"
        return (
            f"{self.runs:,} runs can never refute this claim: they show at most ε = {most:.3g}, "
            f"and {claimed:.4g} is claimed; {could}"
        )

    def require(self) -> None:
        """`PosseError` if a verdict would be meaningless, or scikit-learn is not installed."""
        spec = self.plan.spec
        if self.plan.field:
            raise InputError(
                "an audit uses data of its own, but this run file is for real rewards; set "
                'mode = "lab", or audit what was captured: posse audit --captured FRAMES'
            )
        if sees_only_ends(self.plan, self.view):
            raise SpecError(
                "--sees",
                f"is '{self.view}', which shows nothing of {spec.system} but when agents end: "
                "its agents choose arms, and choices are seen as pulls; use --sees pulls",
            )
        if self.watched > 1 and self.view != "agent":
            raise SpecError(
                "--watched",
                f"does not apply to what is seen, which is '{self.view}'; add --sees agent",
            )
        if not 1 <= self.watched <= spec.agents.count:
            raise SpecError("--watched", f"is {self.watched}; there are {spec.agents.count} agents")
        require_scikit()

    def verdict(self) -> AuditVerdict | Guess:
        """Try the cases, learn on the worst one, and judge."""
        self.require()
        claim, sees, claimed = self.plan.reward_claim, self.view, self.claimed
        if self.guesses and claim.guess is not None:
            # the claim is about one agent's messages
            bound = claim.guess if self.watched == 1 else None
            return guess_best_arm(self, bound, sees, self.runs, self.error)
        sums = claim.mechanism == "aggregation"
        if claimed is None and sums:
            claimed = 0.0  # the claim is that nothing shows who of a sum reported what
        delta = self.tested_delta
        case, keep = self._worst(delta)
        half = self.runs // 2
        learned = self.tables(case, sees, _FIRST, half, keep)
        tested = self.tables(case, sees, _FIRST + half, half, keep)
        verdict = judge(learned, tested, claimed, delta, self.error)
        violations = find_readable_sums(self.plan) if sums else []
        return msgspec.structs.replace(verdict, case=case, violations=violations)

    def _worst(self, delta: float) -> tuple[Neighbours, tuple[str, ...]]:
        """The case whose data sets differ most in a few runs, and the numbers to keep."""
        tried: list[tuple[float, Neighbours, tuple[str, ...]]] = []
        failed: list[RunFailed] = []
        for case in self.tried:
            try:
                pair = self.tables(case, self.view, 0, self._pilot)
            except RunFailed as error:  # some algorithms never end when all arms are alike
                failed.append(error)
            else:
                keep = choose_numbers(pair)
                few = [ViewTable(keep, table.columns(keep), cut=table.cut) for table in pair]
                tried.append((learn(few, delta)[1], case, keep))
        if not tried:
            raise failed[0]
        _, worst, keep = max(tried, key=itemgetter(0))
        return worst, keep


def choose_numbers(pair: Sequence[ViewTable]) -> tuple[str, ...]:
    """The names of numbers that vary and do not duplicate another, at most `_MOST_NUMBERS`.

    If there are more, those whose means differ most between the data sets.
    """
    names, (left, right) = align(pair)
    both = np.concatenate([left, right])
    different = {column.tobytes(): i for i, column in reversed(list(enumerate(both.T)))}
    kept = sorted(i for i in different.values() if len(np.unique(both[:, i], equal_nan=True)) > 1)
    if len(kept) > _MOST_NUMBERS:
        filled = np.nan_to_num(both)
        spread = filled.std(axis=0) + 1e-300
        apart = np.abs(filled[: len(left)].mean(axis=0) - filled[len(left) :].mean(axis=0)) / spread
        kept = sorted(sorted(kept, key=lambda i: -apart[i])[:_MOST_NUMBERS])
    return tuple(names[i] for i in kept)


def find_readable_sums(plan: Plan) -> list[str]:
    """Sums over fewer agents than claimed that a coordinator could read in a few runs."""
    reader = plan.system.make_reader(plan.spec, plan.parameters)
    violations: list[str] = []
    for run in range(_LOOKS if reader.grouped else 0):
        frames = Recorder()
        sources = replace(of_this_machine(lambda: 0), arms=rehearsed)
        memory.run(plan, run, tap=frames, sources=sources)
        violations += reader.violations(frames)
    return violations
