"""Time, chance and arms, as they are handed to a host."""

import dataclasses

import numpy as np

from posse.arms.base import RandomMeans
from posse.arms.bernoulli import BernoulliArms
from posse.hosts.sources import Chance
from posse.measure.regret import Regret
from posse.protocol.machine import COORDINATOR
from posse.seeds import Purpose, generator
from tests.support.hosts import sources


def lab(rank: int = 2) -> Chance:
    return Chance(sources(), False, 5, 1, rank)


def test_the_field_knows_the_time_to_the_millisecond() -> None:
    told = sources(lambda: 123_456_789).coarse()
    assert (told.clock(), told.stamp()) == (123_000_000, 123_000_000)


def test_the_labs_chance_follows_from_seed_run_rank_and_purpose() -> None:
    ties = generator(5, 1, 2, Purpose.TIES).random(4)
    assert (lab().generator(Purpose.TIES).random(4) == ties).all()
    instance = generator(5, 1, COORDINATOR, Purpose.INSTANCE).random(4)
    assert (lab().common(Purpose.INSTANCE).random(4) == instance).all()
    assert lab().secret(Purpose.PROTOCOL) == generator(5, 1, 2, Purpose.PROTOCOL).bytes(32)


def test_the_fields_chance_is_the_operating_systems_and_nothing_else() -> None:
    asked: list[int] = []

    def randbits(bits: int) -> int:
        asked.append(bits)
        return 7

    field = Chance(dataclasses.replace(sources(), randbits=randbits), True, 5, 1, 2)
    drawn = field.generator(Purpose.TIES).random(4)
    assert (drawn == np.random.default_rng(7).random(4)).all()
    assert field.secret(Purpose.PROTOCOL) == b"\x07" + bytes(31)
    assert asked == [128, 256]


def _costs(measures: dict[str, Regret]) -> dict[str, list[float]]:
    """By measure, what a pull of arm 0 costs, and then one of arm 1."""
    costs = {}
    for name, regret in measures.items():
        regret.pulled((0,), 1, 1, 1.0)
        first = regret.total
        regret.pulled((1,), 1, 1, 2.0)
        costs[name] = [round(first, 12), round(regret.total - first, 12)]
    return costs


def test_regret_is_against_the_average_and_ones_own_where_they_differ() -> None:
    own = BernoulliArms(means=[[0.1, 0.5], [0.3, 0.7], [0.8, 0.0]])
    assert _costs(lab().regret(own, 3, "average")) == {"regret": [0, 0], "regret_local": [0, 0.8]}
    assert _costs(lab().regret(own, 3, "own")) == {"regret": [0, 0.8]}
    same = BernoulliArms(means=[0.1, 0.5])
    assert lab().regret(same, 3, "average").keys() == {"regret"}


def test_random_means_are_the_same_for_all_agents_of_a_run_and_new_in_the_next() -> None:
    drawn = BernoulliArms(means=RandomMeans(random="uniform", count=2))
    of = [Chance(sources(), False, 5, 0, rank) for rank in range(3)]
    tables = [chance.means(drawn, 3) for chance in of]
    assert all(np.array_equal(table, tables[0]) for table in tables)
    assert not np.array_equal(Chance(sources(), False, 5, 1, 0).means(drawn, 3), tables[0])
