"""Coordinators and remote agents in this process, each in a thread."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posse.agent.process import AgentProcess
from posse.agent.remote import remote_agent
from posse.durable.capture import Capture
from posse.engines.processes import ProcessEngine
from posse.plan import Plan
from posse.security import keys
from posse.testing.hosts import free_port
from tests.support.patience import PATIENCE

__all__ = ["Agent", "Coordinator", "Serving", "coordinator", "free_port", "until"]


def until(done: Callable[[], object], what: str) -> None:
    """Wait until something has happened, that must."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.01)


class Serving:
    """An agent that serves in a thread; `code` is its exit code when it has ended."""

    def __init__(self, process: AgentProcess) -> None:
        self.process = process
        self.code: int | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self.code = self.process.serve()

    def ended(self) -> int | None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the agent did not end in time"
        return self.code


class Agent(Serving):
    """A remote agent."""

    def __init__(self, endpoint: str, rank: int = -1, **options: Any) -> None:
        super().__init__(remote_agent(endpoint, rank, **{"wait": 20.0, **options}))


@contextmanager
def coordinator(
    plan: Plan, bind: str = "tcp://127.0.0.1:*", folder: Path | None = None
) -> Iterator[ProcessEngine]:
    """A coordinator that is bound; entering it as a context waits for its agents."""
    pairs = keys.for_coordinator(folder, plan.spec.agents.count) if folder else None
    engine = ProcessEngine(plan, bind=bind, token="", spawn=0, keys=pairs)
    try:
        yield engine
    finally:
        engine.close()


class Coordinator:
    """A coordinator whose runs go on in a thread; what it raised is in `error`."""

    def __init__(
        self,
        plan: Plan,
        endpoint: str,
        folder: Path | None = None,
        capture: Capture | None = None,
    ) -> None:
        pairs = keys.for_coordinator(folder, plan.spec.agents.count) if folder else None
        self.engine = ProcessEngine(
            plan, bind=endpoint, token="", spawn=0, keys=pairs, capture=capture
        )
        self.endpoint = self.engine.endpoint
        self.error: Exception | None = None
        self.record: Any = None
        self._plan = plan
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self.engine:
                for number in range(self._plan.spec.repeat):
                    self.record = self.engine.run(self._plan, number)
        except Exception as error:
            self.error = error

    def ended(self) -> Any:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the coordinator did not end in time"
        return self.record

    def stop(self) -> None:
        if self._thread.is_alive():
            self.engine.hub.interrupted.set()
        self._thread.join(PATIENCE)
