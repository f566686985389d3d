"""Arms of the run file, as a host builds them for one run."""

from posse.arms import ArmsContext, ArmsSpec, LabMeans
from posse.arms.base import FloatArray
from posse.arms.buffer import RewardBuffer
from posse.hosts.sources import Chance
from posse.seeds import Purpose


def rewards_of(arms: ArmsSpec, agents: int, base: str, chance: Chance) -> RewardBuffer:
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
    return RewardBuffer(chance.sources.arms(arms, context), arms.arm_count())


def means_of(arms: ArmsSpec, agents: int, chance: Chance) -> FloatArray | None:
    """The means of every agent, shape (agents, arms), where they are known."""
    if not isinstance(arms, LabMeans):
        return None
    return arms.table(agents, chance.common(Purpose.INSTANCE))
