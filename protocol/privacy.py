"""What a release gives away, and what a run claims about it."""

import msgspec


class Release(msgspec.Struct, frozen=True, array_like=True):
    """One noisy release of an agent.

    `mechanism`    the law of the noise, "laplace" or "randomized-response"
    `sensitivity`  by how much one reward may move the released value (in units of reward)
    `scale`        the noise's scale, in the same units
    `epsilon`      sensitivity / scale: what one release costs the rewards it covers
    `block`        releases with equal `block` cover the same rewards and add up (sequential
                   composition); different blocks cover disjoint rewards, and the largest counts
                   (parallel composition; Dwork and Roth 2014, section 3.5)
    `times`        how often it was made, each time with new noise
    """

    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    block: str
    times: int = 1


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What the paper promises, in words and numbers.

    `holds` is False where the specification's own analysis refutes the printed claim; `note` then
    says why.
    """

    mechanism: str
    epsilon: float | None = None
    delta: float | None = None
    unit: str = "one reward"
    adversary: str = "whoever reads the agent's messages"
    holds: bool = True
    note: str = ""


def spent(releases: list[Release]) -> float:
    """The ε that a ledger of releases costs the most exposed reward."""
    by_block: dict[str, float] = {}
    for release in releases:
        by_block[release.block] = by_block.get(release.block, 0.0) + release.epsilon * release.times
    return max(by_block.values(), default=0.0)
