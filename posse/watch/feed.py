"""Server-sent events about a run, as JSON: its graph once, its state twice a second.

Each event holds the whole state, so a page may come late, miss events or reconnect. Peers' text is
made printable.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

import msgspec
import numpy as np

from posse.engines.board import ACTIVATIONS, EPSILON, NOW, REGRET, SHOWN, Board, kinds
from posse.operate.status import CoordinatorStatus, Snapshot
from posse.plan import Plan
from posse.printable import printable
from posse.protocol.machine import COORDINATOR
from posse.watch.view import View, Watcher, pairs

EVERY = 0.5
"""Seconds between two events."""

MOST_LINKS = 4_000
"""The most links sent to a page. Of more links, every n-th is sent."""

_MOST_POINTS = 240
_BEGINNING = (0.0, 0.0, 0.0)
_FAREWELL = 2.0
"""Seconds for readers to receive the last event."""


class Feed:
    """Events of one command's runs for any number of readers, each in a thread of its own.

    `state` and `graph` give the content of events. One thread looks at the run once per event.
    Without readers it only records how regret grows.
    """

    def __init__(self, plan: Plan, watcher: Watcher, board: Board | None) -> None:
        agents = plan.spec.agents.count
        here = CoordinatorStatus(agents=agents)
        if plan.spec.engine.kind == "memory":
            here = CoordinatorStatus(agents=agents, arrived=agents, running=True)
        self.snapshot: Callable[[], Snapshot] = lambda: Snapshot(here)
        """Which agents are up."""
        self._plan, self._watcher, self._board = plan, watcher, board
        self._began = time.monotonic()
        self._points: list[tuple[float, float, float | None]] = [_BEGINNING]
        self._run: int | None = None
        self._network = plan.network(0)
        heard = plan.system.agent.hears + plan.system.server_hears
        self.kinds = list(dict.fromkeys(kinds(heard)))
        self._links = self._linked()
        self._readers = 0
        self._event = b""
        self._told = threading.Condition()
        self._over = threading.Event()
        self._end: dict[str, Any] | None = None
        self._looker = threading.Thread(target=self._look, name="watch", daemon=True)
        self._looker.start()

    # --- for the command -------------------------------------------------------------------------

    def close(self, said: list[tuple[str, str]], failed: str = "") -> None:
        """End: tell readers what was found, or why the runs failed, and let them go."""
        self._over.set()
        self._looker.join()
        self._note()
        with self._told:
            self._event = _event("state", self.state())
            self._end = {"said": said, "failed": printable(failed, 2_000)}
            self._told.notify_all()
            self._told.wait_for(lambda: self._readers == 0, _FAREWELL)

    # --- for readers -----------------------------------------------------------------------------

    def events(self) -> Generator[bytes, None, None]:
        """Server-sent events until the end."""
        with self._told:
            self._readers += 1
        try:
            graph: object = None
            while True:
                if graph is not self._links:
                    graph = self._links
                    yield _event("graph", self.graph())
                yield self._event or _event("state", self.state())
                if self._end is not None:
                    yield _event("end", self._end)
                    return
                with self._told:
                    if self._end is None:
                        self._told.wait(10 * EVERY)
        finally:
            with self._told:
                self._readers -= 1
                self._told.notify_all()

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            self._note()
            with self._told:
                self._event = _event("state", self.state()) if self._readers else b""
                self._told.notify_all()

    def _note(self) -> None:
        """Record the regret and ε so far."""
        view = self._watcher.view
        if view is None:
            return
        if self._run != view.run:
            self._run = view.run
            self._points = [_BEGINNING]
            self._network = view.network
            self._links = self._linked()
        at, regret, epsilon = self._grown(view)
        if regret is not None and at >= self._points[-1][0] and at > 0.0:
            if at == self._points[-1][0]:  # a look in the last slot, before all had shown it
                self._points.pop()
            self._points.append((at, regret, epsilon))
        if len(self._points) > _MOST_POINTS:
            del self._points[1:-1:2]

    def _grown(self, view: View) -> tuple[float, float | None, float | None]:
        """The time, the group's regret by then, and the cost of the most exposed reward."""
        at, board = view.at, self._board
        if board is None or view.status:
            return at, view.regret, view.epsilon
        shown = board.rows[board.rows[:, SHOWN] == view.serial + 1]
        if not len(shown):
            return at, view.regret, None
        if self._plan.clock == "virtual":
            at = float(shown[:, ACTIVATIONS].sum())
        elif self._plan.system.server is None:
            at = float(shown[:, NOW].mean())
        regret = float(shown[:, REGRET].sum())
        return at, view.regret if np.isnan(regret) else regret, float(shown[:, EPSILON].max())

    # --- what events hold ------------------------------------------------------------------------

    def _linked(self) -> list[tuple[int, int]]:
        served = self._plan.system.server is not None
        linked = pairs(self._network, self._plan.spec.agents.count, served)
        told = linked[:: -(-len(linked) // MOST_LINKS) or 1]
        self._omitted = len(linked) - len(told)
        return told

    def graph(self) -> dict[str, Any]:
        """What stays the same during a run. The coordinator is -1."""
        plan, facts = self._plan, self._network.facts
        return {
            "system": plan.spec.system,
            "title": plan.system.title,
            "variant": plan.spec.variant,
            "mode": plan.spec.mode,
            "engine": plan.spec.engine.kind,
            "unit": {"virtual": "rounds", "slots": "slots", "wall": "seconds"}[plan.clock],
            "agents": plan.spec.agents.count,
            "arms": plan.spec.arms.arm_count(),
            "runs": plan.spec.repeat,
            "claimed": plan.claim.epsilon,
            "kinds": self.kinds,
            "links": self._links,
            "omitted": self._omitted,
            "sinks": facts.sinks or [],
            "byzantine": facts.byzantine or [],
        }

    def state(self) -> dict[str, Any]:
        """The state as of now."""
        snapshot, view = self.snapshot(), self._watcher.view
        status = snapshot.status(time.monotonic())
        digits = 0 if self._plan.field else 1
        state: dict[str, Any] = {
            "at": round(time.monotonic() - self._began, 1),
            "arrived": status.arrived,
            "running": status.running,
            "done": status.runs_completed,
            "waiting": [status.waiting, status.waiting_for] if status.waiting_for else None,
            "away": snapshot.away,
            "heard": {n: round(s, digits) for n, s in status.heard_seconds_ago.items()},
            "last": {n: printable(kind, 64) for n, kind in status.heard.items()},
            "refused": {printable(reason): n for reason, n in status.refused.items()},
            "resent": snapshot.resent,
            "restarts": snapshot.restarts,
        }
        if view is not None:
            at, regret, epsilon = self._grown(view)
            state |= view.told
            state |= {
                "flow": self._flow(view),
                "now": [at, regret, epsilon],
                "grown": list(self._points),
            }
        return state

    def _flow(self, view: View) -> dict[str, Any]:
        """Messages by kind: over all links, and for each link that the page knows, there and back.

        Messages between agents are unknown in the field, and between agents on other machines.
        """
        told = np.array(self._links, dtype=np.intp).reshape(-1, 2)
        between = told[:, 1] != COORDINATOR
        shown = None if self._board is None or view.status else self._board
        total = Counter[str]()
        for (_, _, kind), messages in view.links.items():
            total[kind] += messages
        known = frozenset(total)
        links: dict[str, list[list[int]]] = {}
        for kind in self.kinds:
            there, back = np.zeros((2, len(told)), dtype=np.int64)
            if kind in known:
                there[:] = [view.links.get((a, b, kind), 0) for a, b in self._links]
                back[:] = [view.links.get((b, a, kind), 0) for a, b in self._links]
            if shown is not None and kind in shown.place.kinds:
                here = shown.rows[:, SHOWN] == view.serial + 1
                sent = shown.sent[shown.place.kinds.index(kind)]
                total[kind] += int(sent[here].sum())
                one, other = told[between].T
                there[between] = np.where(here[one], sent[one, other], 0)
                back[between] = np.where(here[other], sent[other, one], 0)
            if there.any() or back.any():
                links[kind] = [there.tolist(), back.tolist()]
        return {"total": {kind: n for kind, n in total.items() if n}, "links": links}


def _event(name: str, data: dict[str, Any]) -> bytes:
    """An event in the form that `EventSource` reads; msgspec writes JSON keys as strings."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
