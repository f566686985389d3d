"""As many agents as fit on a large machine; see `bench.startup`."""

from bench.startup import start
from bench.tables import hold

AGENTS = 5_000
BAR_SECONDS = 45.0
BAR_GB = 16.0


def main() -> None:
    seconds, used = start((AGENTS,))
    hold(f"{AGENTS:,} agents, seconds to the answer", seconds, BAR_SECONDS, most=True)
    hold(f"{AGENTS:,} agents, GB together", used / 1e9, BAR_GB, most=True)
