"""How a host builds the run file's arms, and their means, for one run."""

from typing import Literal

from posse.arms import Arms, ArmsContext, ArmsSpec, known_means
from posse.arms.base import FloatArray
from posse.hosts.sources import Chance
from posse.seeds import Purpose


def arms_of(arms: ArmsSpec, agents: int, base: str, chance: Chance) -> Arms:
    """The host's own arms; `base` is the run file's folder."""
    context = ArmsContext(
        rank=chance.rank,
        agents=agents,
        run=chance.run,
        seed=chance.seed,
        base=base,
        rewards=chance.generator(Purpose.REWARDS),
        instance=chance.common(Purpose.INSTANCE),
    )
    return chance.sources.arms(arms, context)


def references_of(
    arms: ArmsSpec, agents: int, against: Literal["average", "own"], chance: Chance
) -> dict[str, FloatArray]:
    """The means that an agent's regret is measured against, shape (arms,); empty if unknown.

    If `against` is "own", "regret" is measured against the agent's own means. Otherwise it is
    against the average over the agents, with "regret_local" against the agent's own if they differ.
    """
    table = means_of(arms, agents, chance)
    if table is None:
        return {}
    if against == "own":
        return {"regret": table[chance.rank]}
    average = {"regret": table.mean(axis=0)}
    return average | {"regret_local": table[chance.rank]} if (table != table[0]).any() else average


def means_of(arms: ArmsSpec, agents: int, chance: Chance) -> FloatArray | None:
    """The means of every agent, shape (agents, arms); None if they are unknown."""
    known = known_means(arms)
    if known is None:
        return None
    return known.table(agents, chance.common(Purpose.INSTANCE))
