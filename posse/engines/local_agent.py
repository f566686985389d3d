"""Makes an agent on the machine of its coordinator."""

import os
import time

from posse.durable.journal import Journal
from posse.engines.agent_process import AgentProcess
from posse.engines.base import Tap
from posse.engines.guard import Guard, RemoteGuard
from posse.engines.joining import Joining
from posse.engines.place import Place
from posse.engines.selector import Selector
from posse.engines.sockets import one_context
from posse.engines.uplink import Uplink
from posse.security.keys import AgentKeys
from protocol import control


def local_agent(
    endpoint: str,
    rank: int,
    token: str,
    inbox: str = "",
    *,
    many: bool = False,
    keys: AgentKeys | None = None,
    system: str = "",
    tap: Tap | None = None,
    journal: Journal | None = None,
) -> AgentProcess:
    """An agent of the coordinator that listens at `endpoint`.

    `inbox`: the ZeroMQ address where neighbours reach this agent ("" if the system has no links
    between agents); it may end in `:*`, and needs `system`. `many`: this agent shares its core with
    many. `keys`: for links over tcp. `tap`, `journal`: see `AgentProcess`.
    """
    context = one_context(many=many)
    selector = Selector()
    guard = Guard() if keys is None else RemoteGuard(context, selector, keys.own)
    return AgentProcess(
        context,
        selector,
        Uplink(context, endpoint, keys),
        Joining(control.Join(rank, token, "", os.getpid()), time.monotonic(), system=system),
        Place(guard, inbox),
        tap,
        journal,
    )
