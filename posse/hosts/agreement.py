"""What agents hold in common, and what they hold against each other."""

from hashlib import blake2b

from posse.printable import printable
from protocol.errors import RemoteProtocolError
from protocol.machine import who

_NAMED = 10
_MOST_STEPS = 1_000


class Agreement:
    """Where all agents must hold the same after a step: what was said of it so far.

    What is kept of a step is a hash, and of `_MOST_STEPS` steps at most: all agents go through them
    together, so that more are open only where somebody makes them up.
    """

    def __init__(self, agents: int) -> None:
        self._agents = agents
        self._steps: dict[int, tuple[int, bytes, set[int]]] = {}

    def attest(self, rank: int, step: int, value: bytes) -> str:
        """An agent says what it holds; a sentence if another holds something else, else empty."""
        if step not in self._steps and len(self._steps) >= _MOST_STEPS:
            raise RemoteProtocolError("too-many", "steps that not all agents have come to")
        digest = blake2b(value, digest_size=32).digest()
        first, held, said = self._steps.setdefault(step, (rank, digest, set()))
        if rank in said:
            raise RemoteProtocolError("out-of-turn", f"step {step} twice")
        if held != digest:
            return (
                f"agents {first} and {rank} hold different results after step {step}, where all "
                "must hold the same"
            )
        said.add(rank)
        if len(said) == self._agents:
            del self._steps[step]
        return ""


class Complaints:
    """Who refused what whom sent: the first few, for the sentence that ends a run."""

    def __init__(self) -> None:
        self._said: dict[tuple[int, int, str], str] = {}

    def add(self, by: int, about: int, reason: str) -> list[str]:
        """`by` refused something that agent `about` sent; the reason may be a peer's own word.

        Returns the sentence, if it is news; what follows a colon in the reason is not.
        """
        kind = (by, about, reason.partition(":")[0])
        if kind in self._said or len(self._said) >= _NAMED:
            return []
        self._said[kind] = f"{who(by)} refused what agent {about} sent: {printable(reason)}"
        return [self._said[kind]]

    def __str__(self) -> str:
        return "".join(f"; {said}" for said in self._said.values())
