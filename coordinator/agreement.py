"""Checks that agents hold the same results, and their complaints about each other."""

from hashlib import blake2b
from itertools import zip_longest

from posse.gates.shown import printable
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, peer_name

_NAMED = 10
_SHARE = 2
"""Kinds of refusals that one agent is quoted with: one of another's, and one that may follow."""

_MOST_STEPS = 1_000


class Agreement:
    """Compares what agents attest after each step, which must be the same for all.

    It keeps one hash per open step, for at most `_MOST_STEPS` steps. Agents go through them
    together, so more can be open only if a peer makes them up.
    """

    def __init__(self, agents: int) -> None:
        self._agents = set(range(agents))
        self._steps: dict[int, tuple[int, bytes, set[int]]] = {}

    def attest(self, rank: int, step: int, value: bytes) -> str:
        """Take an agent's result; return a sentence if another agent's differs, else ""."""
        if step not in self._steps and len(self._steps) >= _MOST_STEPS:
            raise RemoteProtocolError("too-many", "steps that not all agents have reached")
        digest = blake2b(value, digest_size=32).digest()
        first, held, attested = self._steps.setdefault(step, (rank, digest, set()))
        if rank in attested:
            raise RemoteProtocolError("out-of-turn", f"step {step} twice")
        if held != digest:
            return (
                f"agents {first} and {rank} hold different results after step {step}, where all "
                "must hold the same"
            )
        attested.add(rank)
        if attested >= self._agents:
            del self._steps[step]
        return ""

    def lose(self, rank: int) -> None:
        """No step waits for this agent."""
        self._agents.discard(rank)
        self._steps = {k: step for k, step in self._steps.items() if not step[2] >= self._agents}


class Complaints:
    """The first few refusals of messages of each agent, for the sentence that ends a run.

    Each who complains has a share, so that nobody's made-up complaints keep out another's, and
    another for what the coordinator sent, so that it cannot use up what is said of agents.
    """

    def __init__(self) -> None:
        self._sentences: dict[int, dict[tuple[int, str], str]] = {}

    def add(self, by: int, about: int, reason: str) -> list[str]:
        """Note that `by` refused a message of `about`; a peer may have chosen `reason`.

        Returns the sentence in a list, empty if it is not new; text after the reason's first colon
        does not make it new.
        """
        kind = (about, reason.partition(":")[0])
        own = self._sentences.setdefault(by, {})
        alike = sum((whom == COORDINATOR) is (about == COORDINATOR) for whom, _ in own)
        if kind in own or alike >= (_NAMED if by == COORDINATOR else _SHARE):
            return []
        own[kind] = f"{peer_name(by)} refused what {peer_name(about)} sent: {printable(reason)}"
        return [own[kind]]

    def __str__(self) -> str:
        """The first of each, then the second: the coordinator's own before all others.

        What agents say of the coordinator comes last.
        """
        by = sorted(self._sentences, key=lambda rank: rank != COORDINATOR)
        sentences = []
        for of_it in (False, True):
            kept = (
                {k: s for k, s in self._sentences[n].items() if (k[0] == COORDINATOR) is of_it}
                for n in by
            )
            each = zip_longest(*(said.values() for said in kept))
            sentences += [sentence for turn in each for sentence in turn if sentence]
        more = f"; and {len(sentences) - _NAMED} more" if len(sentences) > _NAMED else ""
        return "".join(f"; {sentence}" for sentence in sentences[:_NAMED]) + more
