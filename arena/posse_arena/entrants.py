"""Who takes part: systems with what may be tuned of them, and the entrants of a user."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from posse import SpecError, load
from posse.experiments import find_system, nearest
from posse.extend import System
from posse_arena.problems import TASKS, Task

Tunes = dict[str, tuple[Any, ...]]
"""Values of parameters to try, each parameter by itself."""


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A system in one form, and the tasks for which its claim is made.

    - `tune`: what is tried of parameters, one at a time; the rest stays at the defaults
    - `differ`: its claim also holds where agents have different arms
    - `origin`: whose it is
    """

    name: str
    system: str
    tasks: tuple[Task, ...]
    origin: str
    variant: str = "corrected"
    parameters: dict[str, Any] = field(default_factory=dict)
    tune: Tunes = field(default_factory=dict)
    differ: bool = False
    base: str = "."
    path: tuple[str, ...] = ()

    @cached_property
    def record(self) -> System:
        """The system itself."""
        folders = [str((Path(self.base) / folder).resolve()) for folder in self.path]
        return find_system(self.system, folders)

    def has(self, parameter: str) -> bool:
        """Whether the system has a parameter of this name."""
        return parameter in self.record.parameters.__struct_fields__

    @property
    def place(self) -> str:
        """The network that its shape brings along; "" if it uses the arena's."""
        shape = type(self.record.shape).__name__
        return {"Alone": "alone", "Star": "server", "SharedArms": "shared arms"}.get(shape, "")

    @property
    def in_parts(self) -> bool:
        """Whether it is made for networks that fall into parts."""
        wiring = self.record.wiring
        return wiring is not None and wiring.components


def _all(tasks: tuple[Task, ...], origin: str, **systems: dict[str, Any]) -> list[Entrant]:
    """Entrants by name, with `_` for `-`; the system is of that name if none is given."""
    return [
        Entrant(**{
            "name": name.replace("_", "-"),
            "system": name.replace("_", "-"),
            "tasks": tasks,
            "origin": origin,
            **given,
        })
        for name, given in systems.items()
    ]  # fmt: skip


def _printed(system: str) -> dict[str, Any]:
    return {"system": system, "variant": "printed"}


def _baseline(name: str, tune: Tunes | None = None) -> dict[str, Any]:
    return {"system": f"posse_arena.baselines:{name}", "tune": tune or {}}


def _private_lone(name: str) -> dict[str, Any]:
    return {"system": f"posse_arena.lone:{name}", "tune": {"growth": (1.2, 1.5, 3.0)}}


_BETA: Tunes = {"beta": (0.2, 0.8)}
_HOPS: Tunes = {"gamma": (1, "diameter")}
_FEW_HOPS: Tunes = {"gamma": (2, 3)}
_EXPLORED: Tunes = {"explore": (0.02, 0.05, 0.2)}
_RATES: Tunes = {"learning_rate": (0.0025, 0.005, 0.01, 0.05)}
_PER_AGENT = {"noise": "per_agent"}

ENTRANTS = (
    *_all(
        ("best-arm",),
        "Rio et al. 2023",
        mase={"tune": _BETA},
        dp_mase={"tune": _BETA},
        dp_mase_printed={**_printed("dp-mase"), "tune": _BETA},
        corrupted_elimination={"parameters": {"xi": 0.1}},
        central={},
        independent={},
    ),
    *_all(
        ("regret",),
        "Dubey and Pentland 2020",
        private_ucb={"tune": {"v": (1.3, 1.5), **_HOPS}},
        private_ucb_printed=_printed("private-ucb"),
        cooperative_ucb={"tune": _HOPS},
        byzantine_ucb={"tune": _HOPS},
    ),
    *_all(
        ("regret",),
        "posse's own",
        private_ucb_doubling={
            "system": "private-ucb",
            "parameters": {"releases": "doubling"},
            "tune": _HOPS,
        },
        robust_private_ucb={"tune": _HOPS},
        cdp_mab_shared={"system": "cdp-mab", "parameters": {"noise": "shared"}, "differ": True},
    ),
    *_all(
        ("regret",),
        "Li and Song 2022",
        cdp_mab={"parameters": _PER_AGENT, "tune": {"participation": (0.5,)}, "differ": True},
        ddp_mab={"parameters": _PER_AGENT, "differ": True},
        ddp_mab_printed={**_printed("ddp-mab"), "parameters": _PER_AGENT, "differ": True},
        hdp_mab={"parameters": _PER_AGENT, "differ": True},
    ),
    *_all(("regret",), "Li and Song 2022", single_mab={}),
    *_all(
        ("regret", "own-arm"),
        "baseline",
        ucb1={},
        adap_ucb={},
        thompson=_baseline("THOMPSON"),
        dp_klucb=_private_lone("DP_KLUCB"),
        dp_imed=_private_lone("DP_IMED"),
        moss=_baseline("MOSS"),
        kl_ucb=_baseline("KL_UCB"),
        epsilon_greedy=_baseline("EPSILON_GREEDY", _EXPLORED),
    ),
    *_all(
        ("regret",),
        "baseline",
        cooperative_thompson=_baseline("COOPERATIVE_THOMPSON", _FEW_HOPS),
        cooperative_moss=_baseline("COOPERATIVE_MOSS", _FEW_HOPS),
        cooperative_kl_ucb=_baseline("COOPERATIVE_KL_UCB", _FEW_HOPS),
        cooperative_epsilon_greedy=_baseline("COOPERATIVE_EPSILON_GREEDY", _EXPLORED),
    ),
    *_all(
        ("own-arm",),
        "Esfandiari et al. 2022",
        anonymous={"parameters": {"group_size": 3}, "tune": _RATES, "differ": True},
        explore_then_commit={"parameters": {"group_size": 3}, "differ": True},
    ),
    *_all(
        ("players",),
        "Tossou and Dimitrakakis 2015",
        tdfs_ucb={},
        tdfs_private_bound={"parameters": {"shared_sample": False}},
        tdfs_private={"parameters": {"shared_sample": False}},
        random_player={},
    ),
)

ONLY_FULL = (
    "moss",
    "kl-ucb",
    "cooperative-kl-ucb",
    "cooperative-moss",
    "cooperative-epsilon-greedy",
    "private-ucb-printed",
    "ddp-mab-printed",
)
"""Left out of the light form, which is to take ten minutes: they cost most, or say least."""


def entered(name: str, task: Task | None = None, tune: Tunes | None = None) -> Entrant:
    """A user's entrant: a run file (its name ends in .toml), or the name of a system.

    Of a run file its system, `path`, variant and parameters count. Without `task` a system with a
    `horizon` enters for regret, any other for the best arm, and one whose agents share their arms
    as players. `tune`: values of its parameters.
    """
    if name.endswith(".toml"):
        spec = load(name)
        own = Entrant(
            name=_name_of(Path(name).resolve()),
            system=spec.system,
            tasks=(),
            origin="entered",
            variant=spec.variant,
            parameters=dict(spec.parameters),
            base=spec.base,
            path=spec.path,
        )
    else:
        own = Entrant(name=name, system=name, tasks=(), origin="entered", path=(".",))
    usual: Task = "regret" if own.has("horizon") else "best-arm"
    if own.record.shares_arms:
        usual = "players"
    tasks: tuple[Task, ...] = (task or usual,)
    for parameter in tune or {}:
        if not own.has(parameter):
            raise SpecError("--tune", f"{own.system} has no parameter {parameter}")
    taken = own.name in {entrant.name for entrant in ENTRANTS}
    return replace(
        own, name=f"{own.name} (entered)" if taken else own.name, tasks=tasks, tune=tune or {}
    )


def _name_of(path: Path) -> str:
    """A run file's name, or its folder's if it is called `run.toml`, as many are."""
    return path.parent.name if path.stem == "run" else path.stem


def ours(
    full: bool, tasks: Collection[Task] = tuple(TASKS), among: Collection[str] = ()
) -> list[Entrant]:
    """Our entrants in these tasks, or those `among` them; `SpecError` if a name is not known."""
    known = [entrant.name for entrant in ENTRANTS]
    for name in among:
        if name not in known:
            raise SpecError("--among", f"'{name}' is not known; {nearest(name, known)}")
    return [
        entrant
        for entrant in ENTRANTS
        if {*entrant.tasks} & {*tasks}
        and (entrant.name in among if among else full or entrant.name not in ONLY_FULL)
    ]
