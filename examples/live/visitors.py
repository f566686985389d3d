"""Visitors of a shop, who are shown a button by the shop's agent, and click it or do not.

python visitors.py http://127.0.0.1:8016 --rank 0 --a-second 150
"""

import argparse
import random
import threading
import time
from collections import Counter
from contextlib import suppress

from posse.live import Agent, LiveError, RewardRefused, token_of

CLICKS = {"blue": 0.2, "green": 0.6, "red": 0.3}
"""How probably a visitor clicks a button of this colour, somewhat more or less in each shop."""

SILENT = 0.1
"""The share of visitors who leave, and of whom the shop hears nothing."""


class Shop:
    """One shop: `a_second` visitors, until `stop` is set."""

    def __init__(self, agent: Agent, rank: int, a_second: float) -> None:
        self.shown: Counter[str] = Counter()
        self._agent, self._a_second = agent, a_second
        self._draw = random.Random(rank)
        self._clicks = {
            name: chance + self._draw.uniform(-0.05, 0.05) for name, chance in CLICKS.items()
        }

    def serve(self, stop: threading.Event) -> None:
        """Show visitors what the agent decides, and tell it of clicks when they come."""
        due: list[tuple[float, str, float]] = []
        while not stop.wait(self._draw.expovariate(self._a_second)):
            now = time.monotonic()
            try:
                decision = self._agent.ask()
                self.shown[decision.name] += 1
                if self._draw.random() >= SILENT:
                    clicked = float(self._draw.random() < self._clicks[decision.name])
                    due.append((now + self._draw.expovariate(5.0), decision.id, clicked))
                for one in [one for one in due if one[0] <= now]:
                    due.remove(one)
                    with suppress(RewardRefused):  # too late: it counted as no click
                        self._agent.tell(one[1], one[2])
            except LiveError:
                time.sleep(0.2)  # the shop goes on with its own button meanwhile


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--a-second", type=float, default=150.0)
    parser.add_argument("--token")
    options = parser.parse_args()
    token = token_of(options.token) if options.token else None
    shop = Shop(Agent(options.address, token=token), options.rank, options.a_second)
    stop = threading.Event()
    try:
        shop.serve(stop)
    except KeyboardInterrupt:
        print(f"shop {options.rank} showed {dict(shop.shown)}")


if __name__ == "__main__":
    main()
