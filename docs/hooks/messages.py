"""A hook of the documentation's build: what every message may reveal, by the message's own code.

A page names in `<!-- messages: agent Join Sync; coordinator Begin -->` who sends what.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

from posse import protocol
from posse.protocol.message import Message, kind_name
from posse.system import get_system, ours

_PLACE = re.compile(r"<!-- messages: ([^>]+) -->")
_SENDER = {"neighbour": "agent, to neighbours"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put a table where a page asks for one."""
    return _PLACE.sub(lambda place: _table(place[0]), markdown)


def kinds() -> list[type[Message]]:
    """Every kind that crosses a link, in the order of its file; no class that is only a base."""
    for module in pkgutil.iter_modules(protocol.__path__, "posse.protocol."):
        importlib.import_module(module.name)
    for system in ours():
        get_system(system)
    found: list[type[Message]] = []
    todo: list[type[Message]] = [Message]
    while todo:
        below = [
            kind
            for kind in todo.pop(0).__subclasses__()
            if kind.__module__.startswith(("posse.protocol.", "posse_systems."))
        ]
        todo += below
        found += [kind for kind in below if not kind.__subclasses__()]
    return sorted(found, key=lambda kind: [*vars(inspect.getmodule(kind))].index(kind.__name__))


def named(markdown: str) -> Iterator[tuple[str, str]]:
    """Sender and kind of each message that a page has a row for."""
    for place in _PLACE.findall(markdown):
        for part in place.split(";"):
            sender, *names = part.split()
            yield from ((sender, name) for name in names)


def _table(place: str) -> str:
    reveals = {kind_name(kind): kind.reveals for kind in kinds()}
    rows = [
        f"|`{name}`|{_SENDER.get(sender, sender)}|{reveals[name]}|" for sender, name in named(place)
    ]
    return "\n".join(["|message|sent by|what it may reveal|", "|---|---|---|", *rows])
