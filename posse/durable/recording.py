"""The sources of a host, whose answers are kept in a journal and given again from it."""

from dataclasses import replace

from posse.durable.journal import Journal
from posse.hosts.sources import Sources


def recorded(journal: Journal, sources: Sources) -> Sources:
    """These sources, as a process with a journal hands them to its host.

    In the lab all but the clocks follows from the seed.
    """
    return replace(sources, clock=journal.asked(sources.clock), stamp=journal.asked(sources.stamp))
