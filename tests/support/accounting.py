"""Google's numerical accountant, the oracle of our own."""

from collections.abc import Iterable
from typing import Any

from dp_accounting.pld import privacy_loss_distribution as pld


def numerical(costs: Iterable[float], delta: float, *, least: bool = False) -> float:
    """ε of Laplace releases with these sensitivities in units of the scale, up to δ.

    By privacy loss distributions on a grid of .001, rounded up; rounded down where `least`.
    """
    total: Any = None
    for cost in costs:
        one = pld.from_laplace_mechanism(
            1 / float(cost),
            value_discretization_interval=1e-3,
            pessimistic_estimate=not least,
            use_connect_dots=not least,
        )
        total = one if total is None else total.compose(one)
    return float(total.get_epsilon_for_delta(delta))
