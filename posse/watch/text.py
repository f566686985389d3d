"""The page as text: reads the events at a page's address."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from posse.errors import InputError, PosseError
from posse.measure.numbers import named, number
from posse.printable import printable

_PATIENCE = 30.0
"""Seconds without an event after which the other end is taken for gone."""

LATE = 2.0
"""Seconds after which an agent is reported as waited for."""

_LONGEST_EVENT = 16 << 20
_BAR = 24
_MOST = 12


def parted(url: str) -> SplitResult:
    """The parts of a page's address; `InputError` if it is not one."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "token=" not in parts.query:
        raise InputError(f"{printable(url)}: must be the whole address that --watch printed")
    return parts


def events(url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of the page at `url`, by name, until the last."""
    parts = parted(url)
    place = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/events"))
    try:
        with urllib.request.urlopen(place, timeout=_PATIENCE) as stream:
            name = ""
            while line := stream.readline(_LONGEST_EVENT):
                word, _, value = line.partition(b": ")
                if word == b"event":
                    name = value.decode().strip()
                elif word == b"data":
                    yield name, msgspec.json.decode(value)
                    if name == "end":
                        return
    except urllib.error.HTTPError as error:
        raise PosseError(f"{parts.netloc} answers {error.code}: {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", error)
        why = getattr(why, "strerror", None) or why
        raise PosseError(f"nobody answers at {parts.netloc}: {why}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise PosseError(f"the server at {parts.netloc} is not posse") from None
    raise PosseError(f"{parts.netloc} no longer answers")


def lines(graph: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """The state as lines for a terminal."""
    agents, which = graph["agents"], f"run {state.get('run', 0) + 1} of {graph['runs']}"
    how = state.get("status") or ("goes on" if state["running"] else "has not begun")
    said = [
        f"{graph['system']} ({graph['variant']}) · {graph['mode']} · {which}: {how}",
        " · ".join([f"{state['arrived']} of {agents} agents here", *state.get("said", ())]),
    ]
    if graph["mode"] == "lab" and "now" in state:
        _, regret, epsilon = state["now"]
        spent = f" · ε spent {number(epsilon)}" if graph["claimed"] is not None or epsilon else ""
        said.append(f"regret {number(regret)}{spent}")
    flow = state.get("flow", {"total": {}, "links": {}})
    kinds = [f"{number(n)} {kind}" for kind, n in sorted(flow["total"].items())]
    said.append("messages: " + ", ".join([*kinds, f"{number(state.get('control', 0))} control"]))
    said += [f"  {one}" for one in _busiest(graph["links"], flow["links"])]
    votes, out = state.get("votes", ()), state.get("out", ())
    most = max(votes, default=0)
    for arm, count in enumerate(votes[:_MOST]):
        gone = "  out" if arm in out else ""
        said.append(f"  arm {arm:<4}{'█' * round(_BAR * count / most):<{_BAR}} {count}{gone}")
    return [printable(line) for line in [*said, *_trouble(state)]]


def _busiest(links: list[list[int]], counts: dict[str, list[list[int]]]) -> list[str]:
    told = [
        [(there[at] + back[at], kind) for kind, (there, back) in counts.items()]
        for at in range(len(links))
    ]
    ranked = sorted(range(len(links)), key=lambda at: (-sum(n for n, _ in told[at]), at))
    return [
        f"{' – '.join(map(_who, links[at]))}: "
        + ", ".join(f"{number(n)} {kind}" for n, kind in told[at] if n)
        for at in ranked[:3]
        if any(n for n, _ in told[at])
    ]


def _who(rank: int) -> str:
    return "coordinator" if rank < 0 else f"agent {rank}"


def _trouble(state: dict[str, Any]) -> Iterator[str]:
    why, waited_for = state["waiting"] or ("", [])
    if late := [rank for rank in waited_for if state["heard"].get(str(rank), LATE) >= LATE]:
        yield f"waiting for {named(late)} {why}"
    if state["away"]:
        yield f"connection lost: {named(state['away'])}"
    for rank, why in state.get("lost", {}).items():
        yield f"agent {rank} is gone: {why}"
    if state["restarts"]:
        yield "started again: " + ", ".join(f"agent {n} ({k})" for n, k in state["restarts"])
    if state["resent"]:
        yield f"{state['resent']} frames were sent again"
    if state["refused"]:
        yield "refused: " + ", ".join(f"{n} {reason}" for reason, n in state["refused"].items())
