"""Plays coordinator and bad network to one agent that shares no code with posse.

Each finding is a sentence of docs/wire.md that the agent kept or broke. It joins once; a run of it
ends before the next begins. An agent of `mase` is judged by the clock `wall` or `virtual`, one of
`ddp-mab` (`posse.testing.neighbour`) beside a neighbour that moves, with numbers that pass 2^32;
each with keys or without. Not tried: signatures, lost agents, the field; no client here has them.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from posse.plan import prepare
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import read_header
from posse.testing.judge import JudgeFinding
from posse.testing.neighbour import PLAN, NeighbourChecks
from posse.testing.played import ForeignChecks, PlayedCoordinator, Silent, WireSentence

Part = Literal["wall", "virtual", "ddp-mab"]
"""What an agent is judged in: `mase` by one of two clocks, or `ddp-mab`."""

_MEANS = [1.0, 0.0, 0.0]

_PLAN: dict[str, Any] = {
    "system": "mase",
    "agents": {"count": 40},
    "arms": {"kind": "bernoulli", "means": _MEANS},
    "parameters": {"beta": 0.5},
}


def judge_agent(
    endpoint: str, wait: float = 60.0, part: Part = "wall", keys: Path | None = None
) -> Iterator[JudgeFinding]:
    """Wait for an agent to join at `endpoint`, and tick off what it keeps; ends at what it breaks.

    `keys`: the folder of everybody's keys, if it is to have keys. `InputError` if the address
    cannot be bound, or keys are missing.
    """
    linked = part == "ddp-mab"
    plan = prepare(PLAN if linked else _PLAN | {"engine": {"clock": part}})
    at = PlayedCoordinator(endpoint, plan, keys)
    make = NeighbourChecks if linked else _VirtualChecks if part == "virtual" else _MaseChecks
    again = f"posse judge {endpoint}" + f" --part {part}" * (part != "wall")
    again += f" --keys {keys}" if keys else ""
    checks = make(at, wait, keys)
    try:
        for sentence, check in checks:
            try:
                check()
            except Silent as error:
                yield JudgeFinding(sentence, False, str(error), again)
                return
            yield JudgeFinding(sentence, True, "", "")
    finally:
        checks.close()
        at.close()


class _MaseChecks(ForeignChecks):
    """What is asked of an agent of `mase`, by the wall clock."""

    t = 0
    """How often it was active in its first run."""

    def __iter__(self) -> Iterator[WireSentence]:
        yield from super().__iter__()
        yield "what is missing is asked for with A", self.asks_for_missing
        yield "it votes as mase does, each Vote before Finished", self.votes
        yield "frames of a run have its source, and rising sequences", self.numbers_frames
        yield (
            "after A everything that is not confirmed comes again, byte for byte",
            self.sends_again,
        )
        yield "after Whose comes Resume, and after Resumed the rest again", self.resumes
        yield "an A for what was confirmed is answered by G", self.says_what_is_gone
        yield "after Stop comes a Report that can be true", self.tells
        yield "another Begin begins another run, its sequence from 0", self.begins_again
        yield from self.of_the_clock()
        yield "Goodbye is confirmed", self.leaves

    def of_the_clock(self) -> Iterator[WireSentence]:
        """What only one clock asks for."""
        return iter(())

    def asks_for_missing(self) -> None:
        self.run = 0
        begin, lost = self.at.frame(control.Begin(1, 0), 0), self.at.frame(control.Stop(), 0)
        self.at.send(lost)
        if (confirmed := self.at.wait_for_mark("A")) != self.at.sent - 2:
            raise Silent(f"it confirms {confirmed}, not {self.at.sent - 2}")
        self.at.sent -= 1
        self.at.send(begin)

    def votes(self) -> None:
        voted, finished = self.played()
        if sorted(voted) != [1, 2] or finished.arm != 0:
            raise Silent(f"it voted against {voted} and answers {finished.arm}")

    def played(self) -> tuple[list[int], control.Finished]:
        """The arms that it votes against until it has finished, and its answer."""
        voted: list[int] = []
        while not isinstance(message := self.at.hear(), control.Finished):
            if message is None:
                raise Silent("no Finished came")
            voted += self.voted(message)
        return voted, message

    def voted(self, message: Message) -> list[int]:
        """The arms of a `Vote`."""
        arms = list(getattr(message, "arms", ()))
        if not arms or arms != sorted(arms):
            raise Silent(f"{type(message).__name__} is no Vote whose arms are sorted")
        return arms

    def numbers_frames(self) -> None:
        headers = [read_header(frame) for frame in self.at.frames if read_header(frame).run == 0]
        if [h.sequence for h in headers] != sorted({h.sequence for h in headers}):
            raise Silent("a sequence is not above the last")
        if {h.source for h in headers} != {0}:
            raise Silent("a frame has another source than its rank")

    def sends_again(self) -> None:
        self.at.again.clear()
        self.at.mark("A")
        self.at.repeated(self.at.confirmed + 1)

    def resumes(self) -> None:
        self.at.say_bare(control.Whose())
        resume = self.at.wait(control.Resume)
        if resume.incarnation != self.joined[-1].incarnation or resume.rank != 0:
            raise Silent("its Resume has another rank, or other random bytes than its Join")
        if resume.connection < 2 or resume.taken != self.at.sent:
            raise Silent(f"connection {resume.connection}, {resume.taken} of {self.at.sent} taken")
        self.at.again.clear()
        self.at.say_bare(control.Resumed(self.at.confirmed))
        self.at.repeated(self.at.confirmed + 1)

    def says_what_is_gone(self) -> None:
        self.at.confirmed = len(self.at.frames)
        self.at.mark("C")
        self.at.confirmed -= 1
        self.at.mark("A")
        self.at.confirmed += 1
        if (gone := self.at.wait_for_mark("G")) != self.at.confirmed:
            raise Silent(f"it says that all up to {gone} is gone, not {self.at.confirmed}")

    def tells(self) -> None:
        self.t = self.reports().activations

    def begins_again(self) -> None:
        self.begins()
        self.votes()
        header = read_header(self.at.frames[self.at.confirmed])
        if (header.run, header.sequence) != (1, 0):
            raise Silent(f"its first frame is of run {header.run}, sequence {header.sequence}")
        self.reports()


class _VirtualChecks(_MaseChecks):
    """The same by the clock `virtual`, whose activations may be silent, and may be undone."""

    silent = False

    def of_the_clock(self) -> Iterator[WireSentence]:
        yield "what was planned after a message is undone", self.undoes
        yield "what it pulled silently before Stop counts, and no more", self.counts

    def due(self) -> float:
        """When it is due, as it says in answer to a message."""
        due = self.at.wait(control.Due).time
        if due < self.at.now:
            raise Silent(f"its Due, {due:g}, is before now, {self.at.now:g}")
        return due

    def played(self) -> tuple[list[int], control.Finished]:
        voted: list[int] = []
        ended: control.Finished | None = None
        steps = 0
        while not isinstance(message := self.at.hear(), control.Due) or message.time < math.inf:
            if message is None:
                raise Silent("no Due came after Begin or Advance")
            if not isinstance(message, control.Due):
                if read_header(self.at.frames[-1]).now != self.at.now:
                    raise Silent(f"now of its {type(message).__name__} is not that of Advance")
                ended = ended or (message if isinstance(message, control.Finished) else None)
                voted += [] if ended else self.voted(message)
                continue
            if ended is not None or message.time < self.at.now:
                raise Silent(f"it says Due {message.time:g} at {self.at.now:g}")
            self.at.now = message.time
            steps += 1
            self.at.say(control.Advance(), self.run)
        if ended is None:
            raise Silent("it is due never, and has not Finished")
        self.silent = steps < 3
        return voted, ended

    def undoes(self) -> None:
        self.begins()
        self.at.now = self.due() / 2
        (eliminated,) = self.at.plan.system.agent.hears
        self.at.say(eliminated((1,)), self.run)
        self.due()
        self.pulled()

    def counts(self) -> None:
        self.begins()
        self.at.now = self.due() * 0.75
        if self.pulled() == 0 and self.silent:
            raise Silent("its report has no activation of those before the now of Stop")

    def pulled(self) -> int:
        """How often it was active until now, when the run stops; each arm once each time."""
        report = self.reports()
        pulls = np.frombuffer(report.pulls, dtype="<i8").tolist()
        last = np.frombuffer(report.curve["regret"], dtype="<f8")[-3]
        # of some 36 activations one in two or three is later; that two at most are has odds of 1e-5
        wrong = len({*pulls, report.activations}) > 1 or pulls[0] > max(0, self.t - 3)
        if wrong or last > self.at.now:
            raise Silent(
                f"pulls {pulls} in {report.activations} activations, the last at {last:g}, cannot "
                f"be what it did until {self.at.now:g}"
            )
        return int(pulls[0])
