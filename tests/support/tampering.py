"""An agent whose messages are changed on their way out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from posse.engines import arrays
from posse.hosts.endpoint import Endpoint


@contextmanager
def tampering(liar: int, change: Callable[[int | None, Any], Any]) -> Iterator[None]:
    """What agent `liar` says to somebody, or to several (None), is what `change` makes of it."""
    one, several = Endpoint.send, Endpoint.send_to_all

    def send(self: Endpoint, to: int, message: Any, now: float) -> None:
        one(self, to, change(to, message) if self.name == liar else message, now)

    def send_to_all(self: Endpoint, targets: Any, message: Any, now: float) -> None:
        several(self, targets, change(None, message) if self.name == liar else message, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Endpoint, "send", send)
        patch.setattr(Endpoint, "send_to_all", send_to_all)
        patch.setattr(arrays, "_may_step", lambda _: False)  # a step has no endpoints
        yield
