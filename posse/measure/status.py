"""How a coordinator is, as it tells operators."""

import msgspec


class CoordinatorStatus(msgspec.Struct, kw_only=True):
    """What `posse status` and `/metrics` say; `heard` has the kind of each agent's last message."""

    agents: int
    arrived: int
    running: bool
    runs_completed: int
    waiting_for: list[int]
    waiting: str
    heard_seconds_ago: dict[int, float]
    heard: dict[int, str]
    frames: int
    refused: dict[str, int]
