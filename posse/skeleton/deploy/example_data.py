"""Write a reward log as an example of your own data: python example_data.py FILE RANK.

Four arms give reward 1 with probability .8, .5, .3 and .2. A file that exists is left as it is.
"""

import random
import sys
from pathlib import Path

MEANS = (0.8, 0.5, 0.3, 0.2)
ROWS = 2_000


def write(path: Path, rank: int) -> None:
    if path.exists():
        return
    generator = random.Random(rank)
    rows = [
        f"{arm},{int(generator.random() < mean)}"
        for arm, mean in enumerate(MEANS)
        for _ in range(ROWS)
    ]
    path.write_text("\n".join(["arm,reward", *rows, ""]))


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
