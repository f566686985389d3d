"""Each system, and the field's noise, on the lowest versions that are declared: `make lowest`."""

import sys

import numpy as np

import posse
from posse.security import noise
from posse.testing.small import SMALL


def main() -> int:
    failed = 0
    for name, small in SMALL.items():
        try:
            posse.run({**small, "system": name}, engine="memory")
        except Exception as error:  # whatever a library does not do yet
            failed += 1
            print(f"{name}: {error!r:.300}")
    said = noise.FieldNoise().noisy(np.zeros(3), 1.0, 1.0)
    print(f"{len(SMALL) - failed} of {len(SMALL)} systems; {noise.names()} said {said}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
