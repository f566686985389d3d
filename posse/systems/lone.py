"""Agents that learn alone (Auer et al. 2002; Tossou and Dimitrakakis 2016; Azize and Basu 2022)."""

from functools import partial

from agent.lone import AdapUcb, LoneUcb, PrivateLoneUcb
from posse.claims import cooperative as claims
from posse.claims.base import silence
from posse.errors import SpecError
from posse.results import cooperative as results
from posse.spec.runfile import RunSpec
from posse.systems.base import ALONE, Field, System, UnitInterval, advise_deviation
from posse.systems.context import making
from posse.systems.shapes import Alone
from posse.theory import cooperative as theory
from posse.theory.bounds import undrawn
from protocol.cooperative import (
    AdapParameters,
    AloneParameters,
    PrivateAloneParameters,
    RobustParameters,
    pulls_per_release,
)


def check_horizon(spec: RunSpec, parameters: AloneParameters) -> None:
    """Refuse a horizon in which not every arm can be tried once."""
    arms = spec.arms.arm_count()
    if parameters.horizon < arms:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but trying each of {arms} arms once takes {arms} slots",
        )


def check_turns(spec: RunSpec, parameters: PrivateAloneParameters | RobustParameters) -> None:
    """Refuse a horizon that ends before every arm has been released once."""
    turns = spec.arms.arm_count() * pulls_per_release(parameters.epsilon)
    if parameters.horizon < turns:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but with epsilon = {parameters.epsilon} arms are pulled in "
            f"turn for the first {turns} slots; use at least as many, or a larger epsilon",
        )


def _check_private(spec: RunSpec, parameters: PrivateAloneParameters) -> None:
    check_horizon(spec, parameters)
    check_turns(spec, parameters)


_system = partial(System, clocks=("slots",), results=results.ALONE, loss=ALONE)

SYSTEMS = (
    _system(
        name="ucb1",
        title="baseline: UCB1, every agent alone",
        paper="Auer et al. 2002",
        parameters=AloneParameters,
        shape=Alone(making(LoneUcb)),
        field=Field("bare"),
        claim=silence,
        one_form=True,
        check=check_horizon,
        advise=advise_deviation,
        bound=theory.ucb1,
    ),
    _system(
        name="dp-ucb-int",
        title="baseline: DP-UCB-INT, every agent alone, private to whoever sees its pulls",
        paper="Tossou and Dimitrakakis 2016",
        parameters=PrivateAloneParameters,
        shape=Alone(making(PrivateLoneUcb)),
        field=Field(),
        claim=claims.private_means,
        unit_interval=UnitInterval(),
        check=_check_private,
        bound=undrawn("No bound is drawn: what is known of DP-UCB-INT is O(log T + 1/ε)."),
    ),
    _system(
        name="adap-ucb",
        title="baseline: AdaP-UCB, every agent alone, each reward in one noisy mean",
        paper="Azize and Basu 2022",
        parameters=AdapParameters,
        shape=Alone(making(AdapUcb)),
        field=Field(),
        claim=claims.batched_means,
        unit_interval=UnitInterval(),
        one_form=True,
        check=check_horizon,
        bound=theory.adap_ucb,
    ),
)
