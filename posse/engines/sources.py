"""What hosts are handed of this machine; see `posse.hosts.sources`."""

import secrets
from collections.abc import Callable
from time import monotonic_ns

from posse.hosts.sources import NO_RESOURCES, ResourceMeter, Sources
from posse.security.noise import FieldNoise


def of_this_machine(stamp: Callable[[], int], resources: ResourceMeter = NO_RESOURCES) -> Sources:
    """The operating system's clock and randomness, arms as the run file has them, and `stamp`."""
    return Sources(
        clock=monotonic_ns,
        stamp=stamp,
        randbits=secrets.randbits,
        noise=FieldNoise,
        arms=lambda spec, context: spec.build(context),
        resources=resources,
    )


def ahead_by(offset: int) -> Callable[[], int]:
    """A clock that is so many nanoseconds ahead of this machine's."""
    return (lambda: monotonic_ns() + offset) if offset else monotonic_ns
