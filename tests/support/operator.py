"""A coordinator that waits for its agents."""

from pathlib import Path

from posse.security import keys
from tests.support.remote import Agent, Coordinator, until
from tests.support.runs import spec


def one_joined(c: Coordinator, folder: Path) -> Agent:
    """Agent 1 of it, when it has joined."""
    agent = Agent(c.endpoint, keys=keys.for_agent(folder, 1))
    until(lambda: c.engine.hub.status().arrived, "agent 1")
    return agent


def waiting_coordinator(folder: Path) -> Coordinator:
    """A coordinator of two agents that waits for both; makes their keys in `folder`."""
    keys.create(folder, 2)
    run = spec("central", 2, engine={"deadline": 30.0, "clock": "wall"})
    return Coordinator(run, "tcp://127.0.0.1:*", folder)
