"""What is asked in the arena, as data: tasks, problems, networks, adversaries, budgets.

An instance of a problem is a table of means, drawn from its number, or the same for all numbers.
Scores are taken on the instances 0, 1, …; entrants are tuned on others (`TUNING`, from
`FIRST_TUNED`).
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from posse.experiments import InputError
from posse.extend import FloatArray
from posse.verbs import read_whole

Form = Literal["light", "full"]
Task = Literal["best-arm", "regret", "own-arm", "players"]
Adversary = Literal["none", "liars", "corruption", "equivocators"]
Links = Literal["near", "continents", "lossy"]
Means = Callable[[int, np.random.Generator], FloatArray]
"""The means of this many agents, shape (M, K), with what a problem draws."""

FIRST_TUNED = 1_000
DELTA = 1e-5
"""Each budget's δ."""


@dataclass(frozen=True)
class Size:
    """How much is run: agents, pulls of each (None: until they are sure), instances."""

    agents: int
    horizon: int | None
    scored: int
    tuned: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """A task: what is scored, the smaller the better, and how much of it is run in each form."""

    title: str
    score: str
    light: Size
    full: Size

    def size(self, form: Form) -> Size:
        """Agents, pulls and instances of a form."""
        return self.light if form == "light" else self.full


TASKS: dict[Task, Question] = {
    "best-arm": Question(
        title="The best arm, as soon as the agents are sure",
        score="pulls per agent until the answer",
        light=Size(32, None, 5, 3),
        full=Size(64, None, 50, 10),
    ),
    "regret": Question(
        title="Little regret against the arm that is best for all",
        score="regret per agent",
        light=Size(8, 400, 5, 3),
        full=Size(16, 5_000, 20, 5),
    ),
    "own-arm": Question(
        title="Little regret against each agent's own best arm",
        score="regret per agent",
        light=Size(12, 400, 5, 3),
        full=Size(100, 5_000, 20, 5),
    ),
    "players": Question(
        title="Little regret of players that share the arms and collide",
        score="regret per player",
        light=Size(3, 400, 5, 3),
        full=Size(3, 20_000, 20, 5),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Arms, the tasks that are asked of them, and where they come from.

    `shared`: every agent has the same arms. `only_full`: too large for the light form.
    """

    name: str
    tasks: tuple[Task, ...]
    source: str
    means: Means
    shared: bool = True
    only_full: tuple[Task, ...] = ()

    def table(self, agents: int, instance: int) -> FloatArray:
        """The means of an instance, shape (M, K)."""
        draws = np.random.default_rng([instance, zlib.crc32(self.name.encode())])
        return self.means(agents, draws)


def fixed(*means: float) -> Means:
    """The same means in every instance, for all agents."""
    return lambda agents, draws: np.tile(means, (agents, 1))


def drawn(count: int, low: float = 0.0, high: float = 1.0, best: float | None = None) -> Means:
    """`count` means from U[low, high] for all agents; the first is `best`, if that is given."""

    def means(agents: int, draws: np.random.Generator) -> FloatArray:
        row = draws.uniform(low, high, count)
        return np.tile(row if best is None else [best, *row[1:]], (agents, 1))

    return means


def spread(agents: int, draws: np.random.Generator) -> FloatArray:
    """Ten means from U[.1, .9] and for each agent an offset from U[-.1, .1], centred."""
    offsets = draws.uniform(-0.1, 0.1, (agents, 10))
    table: FloatArray = draws.uniform(0.1, 0.9, 10) + offsets - offsets.mean(axis=0)
    return table.clip(0, 1)


def tastes(agents: int, draws: np.random.Generator) -> FloatArray:
    """(1 + cos(u_i, v_j)) / 2, for agents' directions u_i and those v_j of five arms, in R^10."""
    users, arms = draws.normal(size=(agents, 10)), draws.normal(size=(5, 10))
    lengths = np.outer(np.linalg.norm(users, axis=1), np.linalg.norm(arms, axis=1))
    table: FloatArray = (1 + users @ arms.T / lengths) / 2
    return table


def tumours(agents: int, draws: np.random.Generator) -> FloatArray:
    """The share of 569 real records on which each of 30 rules tells whether a tumour is malignant.

    A rule says so if its measurement is above the median. A pull puts a rule to a record drawn at
    random, so that a reward is Bernoulli with that mean.
    """
    return np.tile(_rules_right(), (agents, 1))


@cache
def _rules_right() -> FloatArray:
    # its file alone: to import scikit-learn takes longer than a run
    home = find_spec("sklearn")
    if home is None or home.origin is None:
        raise InputError('the real log is scikit-learn\'s: pip install "posse-bandits[audit]"')
    log = Path(home.origin).parent / "datasets" / "data" / "breast_cancer.csv"
    records = np.array([row.split(b",") for row in read_whole(log).splitlines()[1:]], dtype=float)
    measurements, benign = records[:, :-1], records[:, -1:]
    shares: FloatArray = ((measurements > np.median(measurements, axis=0)) != benign).mean(axis=0)
    return shares


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            name="rio-1",
            tasks=("best-arm",),
            source="Rio et al. 2023, Problem 1",
            means=fixed(0.7, 0.5, 0.3, *[0.1] * 7),
        ),
        Problem(
            name="uniform",
            tasks=("regret",),
            source="Dubey and Pentland 2020, section 5: five means from U[0, 1]",
            means=drawn(5),
        ),
        Problem(
            name="two",
            tasks=("best-arm", "regret"),
            source="two arms, .6 and .4",
            means=fixed(0.6, 0.4),
        ),
        Problem(
            name="hard",
            tasks=("best-arm", "regret"),
            source="a gap of .1 to each of four arms",
            only_full=("best-arm",),
            means=fixed(0.55, *[0.45] * 4),
        ),
        Problem(
            name="hundred",
            tasks=("best-arm", "regret"),
            source="Li and Song 2022, section VII: 100 means from U[0, 1]; for the best arm the "
            "first is 1 and the others from U[0, .8]",
            means=drawn(100, 0, 0.8, best=1.0),
            only_full=("best-arm", "regret"),
        ),
        Problem(
            name="thousand",
            tasks=("best-arm", "regret"),
            source="one arm of mean .9 among 1,000; the others from U[0, .3]",
            means=drawn(1_000, 0, 0.3, best=0.9),
            only_full=("best-arm", "regret"),
        ),
        Problem(
            name="tumours",
            tasks=("best-arm", "regret"),
            source="a real log: Wisconsin breast cancer, 569 records, which scikit-learn ships",
            means=tumours,
            only_full=("best-arm",),
        ),
        Problem(
            name="spread",
            tasks=("regret",),
            source="Li and Song 2022, section VII: arms that differ by agent",
            means=spread,
            shared=False,
        ),
        Problem(
            name="tastes",
            tasks=("own-arm",),
            source="Esfandiari et al. 2022, section 5: cosines of five arms and each agent",
            means=tastes,
            shared=False,
        ),
        Problem(
            name="players",
            tasks=("players",),
            source="Tossou and Dimitrakakis 2015, Figure 2: a mean of .55, .2 and eight of .1",
            means=fixed(*[0.1] * 4, 0.2, 0.55, *[0.1] * 4),
        ),
    )
}

TUNING: dict[Task, Problem] = {
    "best-arm": Problem(
        name="tuning",
        tasks=("best-arm",),
        source="a mean of .7 and nine from U[.1, .5]",
        means=drawn(10, 0.1, 0.5, best=0.7),
    ),
    "regret": PROBLEMS["uniform"],
    "own-arm": PROBLEMS["tastes"],
    "players": Problem(
        name="tuning-players",
        tasks=("players",),
        source="ten means from U[0, .6]",
        means=drawn(10, 0, 0.6),
    ),
}
"""What entrants are tuned on: never an instance that is scored."""

BASE: dict[Task, str] = {
    "best-arm": "rio-1", "regret": "uniform", "own-arm": "tastes", "players": "players"
}  # fmt: skip
"""The problem that each task also asks on all networks, under adversaries, by all budgets."""

NETWORKS: dict[str, dict[str, Any]] = {
    "regular": {"kind": "regular", "degree": 4},
    "ring": {"kind": "ring"},
    "star": {"kind": "star"},
    "small-world": {
        "kind": "networkx",
        "generator": "watts_strogatz_graph",
        "parameters": {"k": 4, "p": 0.2},
    },
    "components": {},
}
"""The first one for every problem. "components" are two rings, for systems made for parts."""

ADVERSARIES: dict[Adversary, str] = {
    "none": "nobody",
    "liars": "one agent of eight has rewards 1 - x instead of x, unknowingly; regret is that of "
    "the others",
    "corruption": "of each agent's rewards the adversary changes 25 in all, those of the best arm "
    "to 0, all others to 1 (Lykouris, Mirrokni and Paes Leme 2018)",
    "equivocators": "one agent of eight tells half of its neighbours what follows from its rewards "
    "and the other half what follows from a reward of 0 for the best arm and 1 for all others; "
    "regret is that of the others",
}
CORRUPTED = 25
"""What the corruption of one agent's rewards may add up to."""

LINKS: dict[Links, str] = {
    "near": "links without delay; seconds are those of a processor",
    "continents": "a third of the agents, by rank, on each of three continents, 45, 90 and 110 ms "
    "apart, a server on the first; 1 ms within one, and a jitter of 2 ms; seconds are virtual",
    "lossy": "links of 20 ms and a jitter of 5 ms that lose 2 % of all messages, which are sent "
    "again after .2 s; seconds are virtual",
}
_APART = [[0.001, 0.045, 0.090], [0.045, 0.001, 0.110], [0.090, 0.110, 0.001]]


LYING: tuple[Adversary, ...] = ("liars", "equivocators")
"""The agents that lie, whose regret does not count."""


def liars(agents: int) -> int:
    """How many agents lie: the last ones, an eighth."""
    return agents // 8


def topology(network: str, agents: int) -> dict[str, Any]:
    """`[topology]` of a network."""
    if network == "components":
        parts = [{"kind": "ring", "count": n} for n in (agents // 2, agents - agents // 2)]
        return {"kind": "components", "components": parts}
    table = dict(NETWORKS[network])
    if table["kind"] == "networkx":
        table["parameters"] = {"n": agents, **table["parameters"]}
    return table


def network_table(links: Links, agents: int) -> dict[str, Any]:
    """`[network]` of these links; {} for those without delay."""
    if links == "near":
        return {}
    if links == "lossy":
        return {"delay": 0.02, "jitter": 0.005, "loss": 0.02}
    ends = [agents * part // 3 for part in range(4)]
    parts: list[list[int | str]] = [[*range(a, b)] for a, b in pairwise(ends)]
    parts[0].insert(0, "coordinator")
    regions = dict(zip(("europe", "america", "asia"), parts, strict=True))
    return {"jitter": 0.002, "delays": _APART, "regions": regions}


def is_first(task: Task, problem: str, network: str, adversary: Adversary, links: Links) -> bool:
    """Whether it is a task's first problem, on the first network or a system's own, undisturbed."""
    first = network not in NETWORKS or network == next(iter(NETWORKS))
    return problem == BASE[task] and first and adversary == "none" and links == "near"


def budgets(form: Form, first: bool) -> tuple[float, ...]:
    """ε of a reward, for whoever reads all messages; several in the `first` place of a task."""
    if not first:
        return (1.0,)
    return (1.0, 10.0) if form == "light" else (0.1, 1.0, 10.0)
