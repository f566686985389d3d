"""What this process uses of its machine."""

import resource
import time

from posse.hosts.sources import ResourceMeter
from protocol.control import Resources


class ProcessResources(ResourceMeter):
    """Processor time and memory of this process."""

    def __init__(self) -> None:
        self._cpu = 0.0

    def begin(self) -> None:
        """See `ResourceMeter`."""
        self._cpu = time.process_time()

    def used(self) -> Resources:
        """See `ResourceMeter`. Memory shared with others counts in proportion where Linux tells."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Resources(time.process_time() - self._cpu, peak, _proportional(peak))


def _proportional(otherwise: int) -> int:
    try:
        with open("/proc/self/smaps_rollup") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return otherwise
