"""What a door hands on to the service and back, without keeping its loop from others."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from posse.live.desk import Decision, RewardRefusal
from posse.live.service import Service


class Reward(msgspec.Struct, frozen=True):
    """One reward, of the decision with this id."""

    id: Annotated[str, Meta(max_length=100)]
    reward: float


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one reward: `used`, or `refused` in a word, and `why`."""

    used: bool
    refused: str = ""
    why: str = ""


async def ask(service: Service, person: str) -> Decision:
    """A decision, on disk if it has to be."""
    asked: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
    service.ask_soon(person, _into(asked))
    return await asked


async def tell(service: Service, rewards: Sequence[tuple[str, float]]) -> list[Told]:
    """What becomes of these rewards, on disk if they have to be."""
    done: asyncio.Future[list[bool | RewardRefusal]] = asyncio.get_running_loop().create_future()
    service.tell_soon(rewards, _into(done))
    return [_told(result) for result in await done]


def _told(result: bool | RewardRefusal) -> Told:
    if isinstance(result, RewardRefusal):
        return Told(False, result.kind, str(result))
    return Told(result)


def _into(future: "asyncio.Future[Any]") -> Callable[[Any], object]:
    """A function that sets the future's result, from this thread or another one."""
    loop, here = future.get_loop(), threading.get_ident()

    def put(result: Any) -> None:
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    def answer(result: Any) -> None:
        if threading.get_ident() == here:
            put(result)
        else:
            with contextlib.suppress(RuntimeError):  # the door was closed meanwhile
                loop.call_soon_threadsafe(put, result)

    return answer
