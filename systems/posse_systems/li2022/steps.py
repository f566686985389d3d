"""All agents of one run of CDP-MAB, DDP-MAB or HDP-MAB at once, equal to their machines.

The server's machine is the real one.
"""

from collections.abc import Sequence

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.noise import Release
from posse.seam.steps import Crowd, Declined, ManyRuns, RunStep
from posse.seam.system import Purpose
from posse_systems.li2022.exchange import Exchange
from posse_systems.li2022.gis import Gis
from posse_systems.li2022.messages import (
    CdpParameters,
    DdpParameters,
    ExploredRow,
    LeftRow,
    Means,
    SinkMeans,
)
from posse_systems.li2022.push import Flooding
from posse_systems.li2022.sac import Relay
from posse_systems.li2022.theory import make_schedule
from posse_systems.li2022.travel import Travel, travel


class EliminationStep(RunStep):
    """`Eliminator` of every agent; shared noise and gossip are declined."""

    def __init__(self, series: ManyRuns) -> None:
        self.p, self.arms, self.variant = series.parameters, series.arms, series.variant
        if self.p.noise == "shared" or getattr(self.p, "exchange", "") == "gossip":
            raise Declined

    def carry_out(self, crowd: Crowd) -> Sequence[int | None]:
        horizon, streams = self.p.horizon, crowd.generators(Purpose.NOISE)
        schedule, way = make_schedule(self.p, crowd.agents, self.arms), self.way(crowd)
        delay = max(0, way.slots - (getattr(self.p, "t_delay", "") == "diameter-1"))
        active: tuple[int, ...] = self.p.candidates or tuple(range(self.arms))
        mean, observed, r = np.zeros((crowd.agents, len(active))), 0, 0
        answers: list[int | None] = [None] * crowd.agents
        while len(active) > 1:
            before, r = observed, r + 1
            observed = schedule.observations(r, len(active), before)
            new = observed - before
            if len(active) * new > horizon - crowd.slot:
                break
            sums, scale = crowd.pull(active, new), schedule.scale(new)
            latest = sums / new + [own.laplace(0.0, scale, len(active)) for own in streams]
            mean = (before * mean + new * latest) / observed
            best: IntArray = np.array(active)[mean.argmax(axis=1)]
            answers = best.tolist()
            crowd.disclose(Release("laplace", 1 / new, scale, 1 / (new * scale), f"round {r}"))
            crowd.note(ExploredRow(r, len(active), observed, new))
            if crowd.slot + delay > horizon:  # too late for an exchange
                _pull_on(crowd, best, horizon)
                break
            for _ in range(delay):
                crowd.pull(best, 1)
            way.note(crowd, r, len(active))
            if isinstance(self.p, DdpParameters):
                average = (mean if self.variant == "corrected" else latest).mean(axis=0)
                answers = [active[int(average.argmax())]] * crowd.agents
                for known in schedule.estimates(r, active, observed, average, crowd.agents):
                    crowd.note(known)
                stay = schedule.survivors(r, active, observed, average, crowd.agents)
                crowd.attest(r, np.array(stay, dtype="<u4").tobytes())
            else:
                stay = self.decide(crowd, r, mean)
            mean = mean.take([active.index(k) for k in stay], axis=1)
            active = stay
        else:
            answers = [active[0]] * crowd.agents
        _pull_on(crowd, active, horizon)
        crowd.note(LeftRow(active))
        crowd.sent(way.sent(crowd.agents))
        return answers

    def decide(self, crowd: Crowd, r: int, mean: FloatArray) -> tuple[int, ...]:
        """Let the server decide on all means, or on those of each component's sink."""
        server, knowledge = crowd.server, crowd.network.knowledge
        asked, packed = list(server.asked), bytes(8 * mean.shape[1])
        if isinstance(self.p, CdpParameters):
            server.means = {n: mean[n] for n in asked}
            crowd.say(Means(r, packed), asked)
        else:
            server.means = {n: mean[list(knowledge[n]["component"])].mean(axis=0) for n in asked}
            crowd.say(SinkMeans(r, packed), asked)
        crowd.decided(server.decide())
        active: tuple[int, ...] = server.active
        return active

    def way(self, crowd: Crowd) -> Travel:
        """How means travel in this network."""
        if isinstance(self.p, CdpParameters):
            return Travel(0, (), ())
        kind: type[Exchange] = Relay
        if isinstance(self.p, DdpParameters):
            kind = Gis if self.p.exchange == "gis" else Flooding
        return travel(kind, crowd.network)


def _pull_on(crowd: Crowd, arms: tuple[int, ...] | IntArray, horizon: int) -> None:
    """Pull these in turn until the horizon, or each agent its own."""
    count = len(arms) if isinstance(arms, tuple) else 1
    times, rest = divmod(horizon - crowd.slot, count)
    if times:
        crowd.pull(arms, times)
    if rest:
        crowd.pull(arms[:rest], 1)
