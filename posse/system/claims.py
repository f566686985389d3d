"""The context of a claim, and wording that several claims share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from posse.arms.csv import CsvArms
from posse.measure.numbers import counted
from posse.protocol.privacy import AdversaryView, Claim, OneReward, format_cost
from posse.spec.privacy import PrivacySpec
from posse.spec.runfile import RunSpec

ALL_MESSAGES = "whoever reads all messages of all agents"
ITS_PULLS = "whoever sees the agent's pulls"

SERVER = {False: "which follows the protocol", True: "even one that lies"}
"""By whether it may lie: the adversary whom masked sums are told."""

TIMING = "when a message is sent, and so how long the rewards before it took"

released = partial(Claim, change=OneReward(), mechanism="laplace", uncovered=TIMING)
"""The claim for noisy releases."""


@dataclass(frozen=True)
class ClaimContext:
    """What a claim depends on: participants, parameters, variant; `field`: rewards are real.

    `alone`: no other agent is believed to be honest.
    """

    agents: int
    arms: int
    parameters: Any
    variant: Any
    field: bool = False
    alone: bool = False


def records(spec: RunSpec, claim: Claim) -> str:
    """What a claim about rewards means for the records and the persons behind them."""
    if claim.epsilon is None:
        return ""
    if (people := spec.privacy.persons) is not None:
        if isinstance(spec.arms, CsvArms):
            who = f"the column '{people.column}' of an agent's log names"
            first, where = f"the first {counted(people.most, 'row')}", " in the file"
        else:
            who, where = f"an agent's own arms name ('{people.column}')", ""
            first = f"the first {counted(people.most, 'reward')}"
        sentences = [
            f"A person is whoever {who}: {first} of each{where} may be used, and no others ever."
        ]
    else:
        sentences = [spec.arms.records, persons(claim)]
    if spec.repeat > 1 and isinstance(spec.arms, CsvArms):
        number = format_cost(spec.repeat * claim.epsilon, claim.delta and spec.repeat * claim.delta)
        sentences.append(
            f"The {spec.repeat} repetitions use the same rows, so that all of them together cost "
            f"at most {number}."
        )
    return " ".join(filter(None, sentences))


SEVERAL = (10, 50)
"""Rewards of one person for which a claim with a δ gives the number."""


def for_persons(claim: Claim, privacy: PrivacySpec) -> Claim:
    """The claim about persons, if the run file says who they are; else the claim as it is."""
    if not privacy.person or claim.epsilon is None:
        return claim
    return claim.of_persons(privacy.rewards_per_person)


def persons(claim: Claim) -> str:
    """What the claim says of a person who is behind several rewards."""
    if not claim.epsilon:
        return ""
    who = "A reward is protected, not a person: somebody behind"
    if not claim.delta or not claim.holds:
        return f"{who} m rewards is protected m times less (mε)."
    few, many = ((m, claim.of_person(m).number) for m in SEVERAL)
    return f"{who} {few[0]} rewards is protected at {few[1]}, behind {many[0]} at {many[1]}."


Claiming = Callable[[ClaimContext], Claim]
"""Gives a system's claim for a run."""


def unprotected(note: str, sees: AdversaryView = "messages") -> Claiming:
    """Claims that no reward is protected. `note`: who learns what; `sees`: an audit's view."""
    claim = Claim(mechanism="none", adversary="nobody", note=note, sees=sees)
    return lambda context: claim


silence = unprotected("Nothing is sent before the end; whoever sees its pulls learns rewards.")
