"""UCB1 (Auer et al. 2002): each agent by itself pulls the arm of the largest upper bound."""

import numpy as np

from posse.script import *


class Settings(Parameters):
    horizon: Positive = 1000


def agent(me):
    pulls, sums = np.ones(me.arms), (yield Pull(range(me.arms), 1))
    for t in range(me.arms, me.parameters.horizon):
        bounds = sums / pulls + np.sqrt(2 * np.log(t) / pulls)
        arm = int(bounds.argmax())
        sums[arm] += (yield Pull([arm], 1))[0]
        pulls[arm] += 1
    return int((sums / pulls).argmax())


SYSTEM = system("ucb-script", agent, None, Settings, claim="Nothing is sent.")
