"""Decisions on live traffic, for applications: which arm a request gets, and its reward later.

from posse.live import Agent

agent = Agent("unix:shop.sock")
decision = agent.ask()
...                               # show decision.name
agent.tell(decision, 1.0)         # once, whenever it is known
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posse.live.client import (
        Agent,
        AsyncAgent,
        LiveDecision,
        LiveError,
        RewardRefused,
        token_of,
    )

__all__ = ["Agent", "AsyncAgent", "LiveDecision", "LiveError", "RewardRefused", "token_of"]


def __getattr__(name: str) -> Any:
    # loaded on first use: an agent's process serves, and needs no client
    if name in __all__:
        from posse.live import client  # noqa: PLC0415

        return getattr(client, name)
    raise AttributeError(f"module 'posse.live' has no attribute '{name}'")
