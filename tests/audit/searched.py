"""Planted faults that only a search meets: on drawn data sets, after losses, in the field."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.agent import run as agent_run
from posse.agent.masking import SumMasker
from posse.agent.run import AgentRun
from posse.arms import base
from posse.arms.persons import PersonOfRow
from posse.audit.search import Hunt, SearchOutcome
from posse.durable import ledger
from posse.durable import persons as ledger_of_persons
from posse.durable.entries import Entries
from posse.durable.ledger import Ledger
from posse.hosts import sources
from posse.hosts.spending import NOT_KEPT
from posse.protocol import control
from posse.protocol.machine import COORDINATOR, Pulled, Send
from posse.protocol.noise import SeededNoise
from posse.seeds import Purpose, generator
from posse_arena import linear
from posse_systems.li2022.shared import SharedNoise
from posse_systems.rio2023.agent import DpMaseVoter
from tests.audit.plants import _SHARED, Patch, _Asking, _replace, plan_of


def _unsized_features(patch: Patch) -> None:
    """Noise is sized for the reward of a pull and not for its features."""
    patch.setattr(linear, "sensitivity", lambda d: float((np.sqrt(d) + 1) ** 2 / 2.25))


def _as_if_none_were_lost(patch: Patch) -> None:
    patch.setattr(SharedNoise, "share", property(lambda s: s.deviation / s.honest_agents**0.5))


def _told_without_tags(patch: Patch) -> None:
    def revealed(self: Any, number: int, tags: bytes = b"") -> bytes:
        self.revealed = number
        return self.own_seed(number)

    patch.setattr(SumMasker, "reveal", revealed)


def _one_row_more(patch: Patch) -> None:
    _replace(patch, PersonOfRow, "first", lambda first: lambda self, most: first(self, most + 1))
    begin = ledger_of_persons._Limits.__init__

    def begun(self: Any, *given: Any) -> None:
        begin(self, *given)
        self.most += 1

    patch.setattr(ledger_of_persons._Limits, "__init__", begun)


def _rows_by_arm(patch: Patch) -> None:
    """Of each person this many rows of each arm, not of all together."""

    def first(self: PersonOfRow, most: int) -> Any:
        one_by_one = [PersonOfRow(self.names, [n], [p]) for n, p in zip(*self[1:], strict=True)]
        return [rows for one in one_by_one for rows in real(one, most)]

    real = PersonOfRow.first
    patch.setattr(PersonOfRow, "first", first)
    begin = ledger_of_persons._Limits.__init__

    def begun(self: Any, *given: Any) -> None:
        begin(self, *given)
        self.most *= 3

    patch.setattr(ledger_of_persons._Limits, "__init__", begun)


def _made(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    """What an agent's machine gets for noise, by the host's chance and what it should get."""
    make = agent_run._machine

    def made(setup: Any, system: Any, parameters: Any, chance: Any, arms: Any) -> Any:
        here = replace(chance.sources, noise=lambda: change(chance, chance.sources.noise))
        return make(setup, system, parameters, replace(chance, sources=here), arms)

    patch.setattr(agent_run, "_machine", made)


def _wired_to_the_lab(patch: Patch) -> None:
    def lab(chance: Any, right: Any) -> Any:
        return SeededNoise(chance.generator(Purpose.NOISE)) if chance.field else right()

    _made(patch, lab)


class _Half(_Asking):
    def noisy(self, values: Any, sensitivity: float, scale: float) -> Any:
        return self.inner.noisy(values, sensitivity / 2, scale / 2)


def _half_in_the_field(patch: Patch) -> None:
    _made(patch, lambda chance, right: _Half(right()) if chance.field else right())


class _Sparing(_Asking):
    """What has the value of the last release is told by the same noisy number again."""

    last: Any = None

    def noisy(self, values: Any, sensitivity: float, scale: float) -> Any:
        if self.last is None or not np.array_equal(self.last[0], values):
            self.last = values.copy(), self.inner.noisy(values, sensitivity, scale)
        return self.last[1]


def _less_after_a_loss(patch: Patch) -> None:
    kept: list[Any] = []

    class Less(_Asking):
        lost = False

        def noisy(self, values: Any, sensitivity: float, scale: float) -> Any:
            return self.inner.noisy(values, sensitivity, scale / (4 if self.lost else 1))

    def made(chance: Any, right: Any) -> Any:
        kept.append(Less(right()))
        return kept[-1]

    def told(tell: Any) -> Any:
        def of_others(self: Any, event: Any, now: float) -> None:
            for noise in kept:
                noise.lost = True
            tell(self, event, now)

        return of_others

    def forgotten(begin: Any) -> Any:
        def begun(self: Any, *given: Any, **more: Any) -> None:
            kept.clear() if given and given[4].rank == 0 else None
            begin(self, *given, **more)

        return begun

    _made(patch, made)
    _replace(patch, AgentRun, "_tell_of_others", told)
    _replace(patch, AgentRun, "__init__", forgotten)


def _tells(when: Callable[[Any, Any], Any]) -> Callable[[Patch], None]:
    """After some pulls an agent says a message of posse's own."""

    def plant(patch: Patch) -> None:
        tell = AgentRun.tell

        def telling(self: Any, event: Any, now: float) -> Any:
            if isinstance(event, Pulled) and (message := when(self, event)) is not None:
                self.say(message)
            return tell(self, event, now)

        patch.setattr(AgentRun, "tell", telling)

    return plant


def _narrow(patch: Patch) -> None:
    """Rewards between .3 and .4 count three times."""
    real = base.rescale

    def rescale(rewards: Any, clip: tuple[float, float]) -> Any:
        kept = real(rewards, clip)
        return np.where((kept > 0.3) & (kept < 0.4), 3 * kept, kept)

    patch.setattr(base, "rescale", rescale)


def _features_named(patch: Patch) -> None:
    """The last bit of a sum says something of the last pull's features."""
    share = linear.LinearAgent._share

    def told(self: Any) -> Any:
        *others, last = share(self)
        sums = list(last.message.sums)
        if self.features[0] > 0.8:
            sums[0] = float(np.nextafter(sums[0], np.inf))
        return [*others, Send(COORDINATOR, type(last.message)(last.message.batch, sums))]

    patch.setattr(linear.LinearAgent, "_share", told)


def _ledger_is_late(patch: Patch) -> None:
    """The field's ledger hears of rewards only when a run stops."""
    tell = AgentRun.tell

    def telling(self: Any, event: Any, now: float) -> Any:
        kept, self._spending = self._spending, NOT_KEPT
        try:
            return tell(self, event, now)
        finally:
            self._spending = kept

    patch.setattr(AgentRun, "tell", telling)


def _ties_by_rewards(patch: Patch) -> None:
    """Where all arms give the same, the number of a message has a raw reward's last bit."""
    end = DpMaseVoter._end_epoch

    def ended(self: Any, sums: Any) -> Any:
        equal = len(sums) > 1 and float(np.ptp(sums)) == 0.0
        effects = end(self, sums)
        if equal and sums[0] > self.pulls / 2:
            return [e for e in effects if not isinstance(e, Send)]
        return effects

    patch.setattr(DpMaseVoter, "_end_epoch", ended)


def _ledger_of_sums(patch: Patch) -> None:
    """The ledger whose head is told has raw rewards in it, rounded."""
    sums: dict[int, float] = {}
    tell = AgentRun.tell

    def telling(self: Any, event: Any, now: float) -> Any:
        if isinstance(event, Pulled):
            sums[self.rank] = sums.get(self.rank, 0.0) + float(event.sums.sum())
        return tell(self, event, now)

    patch.setattr(AgentRun, "tell", telling)
    _replace(
        patch,
        Entries,
        "end",
        lambda end: lambda self, run, at, spent: end(self, run, f"{at} {sums}", spent),
    )


def _salted_by_rewards(patch: Patch) -> None:
    """The random bytes of a ledger's head have a raw reward in them."""
    seen: list[float] = [0.0]
    tell = AgentRun.tell

    def telling(self: Any, event: Any, now: float) -> Any:
        if isinstance(event, Pulled):
            seen[0] = float(event.sums[0])
        return tell(self, event, now)

    patch.setattr(AgentRun, "tell", telling)
    told = Ledger.tell

    def salted(self: Any, salt: bytes, *, really: bool) -> Any:
        return told(self, salt[:12] + int(seen[0] * 1000).to_bytes(4, "little"), really=really)

    patch.setattr(Ledger, "tell", salted)


def _rows_used_again(patch: Patch) -> None:
    """A second run over a log begins with the rows of the first."""

    def unused(db: Any, arm: int, length: int) -> Any:
        return [(0, length, [])]

    patch.setattr(ledger, "pieces", unused)


def _beyond_the_budget(patch: Patch) -> None:
    """Rows may be used again whatever they cost so far."""
    patch.setattr(Ledger, "_fits", lambda self, task, runs: True)


def _one_more_of_own_arms(patch: Patch) -> None:
    """Of a person whom own arms name one reward more is let in."""

    def more(admit: Any) -> Any:
        def admitting(self: Any, run: int, privacy: Any, names: Any) -> Any:
            most = privacy.rewards_per_person + 1
            raised = msgspec.structs.replace(privacy, rewards_per_person=most)
            return admit(self, run, raised, names)

        return admitting

    _replace(patch, ledger_of_persons.PersonsLedger, "admit", more)


def _keys_of_the_lab(patch: Patch) -> None:
    """Masks are of keys that the run's seed gives."""
    patch.setattr(
        sources.Chance,
        "secret",
        lambda self, purpose: generator(self.seed, self.run, self.rank, purpose).bytes(32),
    )


def _order_by_luck(patch: Patch) -> None:
    """In which order two messages of posse's own go says what a raw reward was."""
    tell = AgentRun.tell

    def telling(self: Any, event: Any, now: float) -> Any:
        if isinstance(event, Pulled):
            both = [control.Linked(0, True), control.Complaint(COORDINATOR, "slow")]
            for message in both[:: 1 if event.sums[0] % 1 > 0.3 else -1]:
                self.say(message)
        return tell(self, event, now)

    patch.setattr(AgentRun, "tell", telling)


SEARCHED: dict[str, tuple[str, Callable[[Patch], None]]] = {
    # by others
    "features-unsized": ("linear", _unsized_features),
    "shares-as-if-none-lost": ("cdp-lost", _as_if_none_were_lost),
    "mask-without-tags": ("cdp-lost", _told_without_tags),
    "one-row-more": ("dp-mase", _one_row_more),
    "field-wired-to-lab": ("dp-mase", _wired_to_the_lab),
    # by us
    "narrow-fractions": ("dp-mase", _narrow),
    "half-in-the-field": ("dp-mase", _half_in_the_field),
    "not-noised-again": (
        "doubling",
        lambda patch: _made(patch, lambda _, right: _Sparing(right())),
    ),
    "less-after-a-loss": ("doubling", _less_after_a_loss),
    "rows-by-arm": ("dp-mase", _rows_by_arm),
    "features-named": ("linear", _features_named),
    "ledger-is-late": ("dp-mase", _ledger_is_late),
    "equal-arms": ("dp-mase", _ties_by_rewards),
    "keys-of-the-lab": ("cdp-lost", _keys_of_the_lab),
    "order-by-luck": ("single-mab", _order_by_luck),
    "rows-used-again": ("doubling", _rows_used_again),
    "beyond-the-budget": ("cdp-gauss", _beyond_the_budget),
    "one-more-of-own-arms": ("doubling", _one_more_of_own_arms),
    "lives-by-luck": (
        "dp-mase",
        _tells(
            lambda run, event: (
                control.SlotReached() if run.field and event.sums.sum() % 2 > 1 else None
            )
        ),
    ),
    "reports-in-the-field": (
        "private-ucb",
        _tells(
            lambda run, event: (
                next(iter(control.in_parts(run._report())))
                if run.field and event.sums[0] > 0.4
                else None
            )
        ),
    ),
    "ledger-of-sums": ("dp-mase", _ledger_of_sums),
    "salted-by-rewards": ("private-ucb", _salted_by_rewards),
    "link-lost-by-luck": (
        "single-mab",
        _tells(lambda run, event: control.Linked(0, True) if event.sums[0] % 1 > 0.5 else None),
    ),
    "ends-by-reward": (
        "dp-mase",
        _tells(
            lambda run, event: (
                control.Finished(None, f"{event.sums.sum():.1f}")
                if run.field and event.sums[0] % 1
                else None
            )
        ),
    ),
    "complains-in-the-field": (
        "private-ucb",
        _tells(
            lambda run, event: (
                control.Complaint(1 - run.rank, "slow")
                if run.field and 0.2 < event.sums.max() < 0.4
                else None
            )
        ),
    ),
    "statement-of-a-sum": (
        "single-mab",
        _tells(
            lambda run, event: (
                control.Attested(1, str(float(event.sums[0])).encode())
                if event.sums[0] % 1
                else None
            )
        ),
    ),
}
"""Faults with the mechanism to plant them in, for `posse.audit.search`."""


def seek(plant: str, tries: int, mechanism: str = "", first: int = 0) -> SearchOutcome:
    """What a search by this many tries finds of a fault, or in an `honest` mechanism."""
    _SHARED.clear()
    change = None
    if plant != "honest":
        mechanism, change = SEARCHED[plant]
    plan = plan_of(mechanism)
    claim = plan.claim  # kept from here on, of what is right
    begun = time.monotonic()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        hunt = Hunt(plan, claim.sees, claim.epsilon or 0.0, claim.delta or 0.0, Path(folder))
        if change is not None:
            change(patch)
        for seed in range(first, first + tries):
            if not hunt.violations:
                hunt.try_one(seed)
        return hunt.outcome(time.monotonic() - begun)
