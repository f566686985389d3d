"""Objects that are not counted, so that forked processes share the memory that holds them.

A forked process shares its parent's memory until it writes to it, and Python writes to each object
that it uses: it counts references. Since 3.12 it does not count those to immortal objects (PEP
683), which was made for servers that fork like this one; here every object becomes immortal.
"""

import ctypes
import gc
import sys
from types import CodeType

_IMMORTAL = 0xFFFF_FFFF
"""The count of an immortal object: the first four bytes of an object, from Python 3.12 on."""


def make_immortal() -> int:
    """Make all objects of this process immortal; returns how many, 0 where Python cannot."""
    if not _can():
        return 0
    objects = _all()
    _mark(objects)
    return len(objects)


def _can() -> bool:
    """Whether references to an object with that count are no longer counted, tried on one."""
    usual = sys.implementation.name == "cpython" and not sys.abiflags  # no debug, with its lock
    if not usual or sys.maxsize < 2**32 or sys.byteorder != "little":
        return False
    probe = object()
    _mark([probe])
    before = sys.getrefcount(probe)
    more = [probe, probe]
    return sys.getrefcount(more[0]) == before


def _mark(objects: list[object]) -> None:
    count_at = ctypes.c_uint32.from_address
    for thing in objects:
        count_at(id(thing)).value = _IMMORTAL


def _all() -> list[object]:
    """All containers, which the garbage collector knows, and all that they refer to."""
    seen: dict[int, object] = {}
    objects = gc.get_objects()
    while objects:
        fresh = {id(thing): thing for thing in objects if id(thing) not in seen}
        seen |= fresh
        objects = gc.get_referents(*fresh.values())
        for thing in fresh.values():
            if isinstance(thing, CodeType):  # it does not tell what it refers to
                objects += [
                    thing.co_consts,
                    thing.co_names,
                    thing.co_linetable,
                    thing.co_exceptiontable,
                ]
                objects += [thing.co_filename, thing.co_name, thing.co_qualname]
    return [*seen.values()]
