"""A hook of the documentation's build: every system's claim, in each form, by the code of runs."""

import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import msgspec
from dp_accounting.pld import privacy_loss_distribution as pld

from posse.plan import prepare
from posse.protocol.accounting import Losses
from posse.protocol.privacy import REWARD, Claim
from posse.system import get_system, ours
from posse.system.claims import SEVERAL, TIMING
from posse.system.record import Field

PLACE = "<!-- claims -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the tables where a page asks for them."""
    return markdown.replace(PLACE, text()) if PLACE in markdown else markdown


_HELD = """
The last column has a row's *gate*, the module that sizes the noise which is asked of
`posse/security/noise.py` and entered by `posse/durable/ledger.py`; and its test, or a name under
which `tests/audit/plants.py` plants faults there that `tests/audit/test_coupling.py` finds.
"""

_WHY = """
### Why

"""

_NOTHING = """
### Where nothing is protected

No reward is covered ([what is given away](#what-a-system-protects-and-what-it-gives-away)): """

_COLUMNS = (
    *("system, form", "protected", "number", "10, 50 rewards", "accountant", "why"),
    "gate: test",
)

_SHORT = {REWARD: "one reward", "the value of one sample, its arm and place fixed": "one sample"}
"""Units of claims, as the page's head explains them."""

Rows = dict[tuple[str, ...], dict[str, list[str]]]
"""By the cells of a row without its first: the systems that it is for, by the name of the form."""

_ASKED = {"horizon": 10_000, "epsilon": 1.0, "group_size": 2, "xi": 0.1}
"""Parameters for the systems that have them."""

Form = tuple[str, dict[str, Any], dict[str, Any]]
"""The name of a form, its parameters besides `_ASKED`, and other keys of its run file."""

_RATE = {"epsilon": 0.1}
_PRINTED: dict[str, Any] = {"variant": "printed"}
_FIELD: dict[str, Any] = {
    "mode": "field",
    "arms": {"kind": "csv", "path": "rewards.csv", "count": 16, "clip": [0.0, 1.0]},
}


def _with(name: str, value: Any) -> Form:
    """The form that one parameter makes."""
    said = f'"{value}"' if isinstance(value, str) else value
    return (f"`{name} = {said}`", {name: value}, {})


_PLAIN: Form = ("", {}, {})
_PRINTED_NOISE: Form = ('`noise = "printed"`, the lab\'s default', {}, {})
_PER_AGENT: Form = ('`noise = "per_agent"`, the field\'s default', {"noise": "per_agent"}, {})
_PLAYERS: list[Form] = [
    ("`shared_sample = true`, the lab's default", {}, {}),
    ('the same, `offsets = "found"`', {"offsets": "found"}, {}),
    ("`shared_sample = false`, the field's default", {}, _FIELD),
    ('the same, `counter = "tree"` or `"honaker"`', {"counter": "honaker"}, _FIELD),
    ('the same, `split = "tossou"`', {"split": "tossou"}, _FIELD),
]

_GROUPS: list[Form] = [_PLAIN, _with("aggregation", "sink"), _with("dropouts", 1)]

_SHARED: list[Form] = [
    ('`noise = "shared"`', {"noise": "shared"}, {}),
    ("the same, `delta_prime = 1e-6`", {"noise": "shared", "delta_prime": 1e-6}, {}),
    ('the same, `noise_law = "laplace"`', {"noise": "shared", "noise_law": "laplace"}, {}),
    ("the same, `dropouts = 2`", {"noise": "shared", "dropouts": 2}, {}),
]

_FORMS: dict[str, list[Form]] = {
    "private-ucb": [
        ("", _RATE, {}),
        ("printed", _RATE, _PRINTED),
        _with("releases", "doubling"),
        _with("releases", "trees"),
        _with("noise_at", "destination"),
    ],
    "dp-ucb-int": [("", _RATE, {}), ("printed", _RATE, _PRINTED)],
    "tdfs-private-bound": _PLAYERS,
    "tdfs-private": _PLAYERS,
    "anonymous": _GROUPS,
    "explore-then-commit": _GROUPS,
    "cdp-mab": [_PRINTED_NOISE, _with("participation", 0.5), _PER_AGENT, *_SHARED],
    "ddp-mab": [_PRINTED_NOISE, _PER_AGENT],
    "hdp-mab": [_PRINTED_NOISE, _PER_AGENT],
}
"""For systems that have several forms."""


def forms() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every system's forms: its name, the form's name, a run file of it."""
    for name in ours():
        system = get_system(name)
        known = {field.encode_name for field in msgspec.structs.fields(system.parameters)}
        run = {
            "system": name,
            "agents": {"count": 16},
            "arms": {"kind": "bernoulli", "means": {"random": "uniform", "count": 16}},
            **({} if system.wiring is None else {"topology": {"kind": "ring"}}),
        }
        asked = {key: value for key, value in _ASKED.items() if key in known}
        for form, parameters, more in _FORMS.get(name, [_PLAIN]):
            yield name, form, {**run, "parameters": asked | parameters, **more}


def text() -> str:
    """The tables."""
    reasons: dict[str, int] = {}
    covered: dict[str, Rows] = {}
    nothing: list[str] = []
    for name, form, run in forms():
        plan = prepare(run)
        claim = plan.claim
        if claim.mechanism == "none":
            lab_only = "" if isinstance(plan.system.field, Field) else " (lab only)"
            nothing.append(f"`{name}`{f' with {form}' * bool(form)}{lab_only}")
        else:
            rows = covered.setdefault(_against(claim), {})
            cells = (*_cells(claim, reasons), tested_by(name, form))
            rows.setdefault(cells, {}).setdefault(form, []).append(f"`{name}`")
    tables = (
        f"\n### Against {who}\n\n{held_by(who)}{_table(_COLUMNS, rows)}"
        for who, rows in covered.items()
    )
    why = "".join(f"{number}. {reason}\n" for reason, number in reasons.items())
    return f"{_HELD}{''.join(tables)}{_WHY}{why}{_NOTHING}{', '.join(nothing)}.\n"


_SIZED = {
    "adap-ucb": ("dubey2020/lone", "adap-ucb"),
    "anonymous": ("esfandiari2022/agent", "tests/systems/test_liars.py"),
    "cdp-mab": ("li2022/agent", "cdp-mab"),
    "corrupted-elimination": ("rio2023/agent", "tests/audit/test_guess.py"),
    "ddp-mab": ("li2022/agent", "ddp-mab"),
    "dp-mase": ("rio2023/agent", "dp-mase"),
    "dp-ucb-int": ("dubey2020/lone", "dp-ucb-int"),
    "explore-then-commit": ("esfandiari2022/agent", "tests/systems/test_liars.py"),
    "hdp-mab": ("li2022/agent", "hdp-mab"),
    "private-ucb": ("dubey2020/agent", "private-ucb"),
    "random-player": ("tossou2015/agent", "tests/audit/test_whole.py"),
    "robust-private-ucb": ("dubey2020/robust", "robust"),
    "single-mab": ("li2022/agent", "single-mab"),
    "tdfs-private": ("agent/hybrid", "tdfs-private"),
    "tdfs-private-bound": ("agent/hybrid", "tdfs-bound"),
}
"""By system: the module that says what noise is asked for, or what is sent; and the test of that,
or the name under which tests/audit/plants.py plants faults there."""

_FORMS_SIZED = {
    ("private-ucb", "doubling"): ("dubey2020/agent", "doubling"),
    ("private-ucb", "trees"): ("agent/tree", "trees"),
    ("cdp-mab", "participation"): ("li2022/agent", "cdp-half"),
    ("cdp-mab", "noise_law"): ("li2022/shared", "cdp-polya"),
    ("cdp-mab", "dropouts"): ("li2022/shared", "cdp-lost"),
    ("cdp-mab", "shared"): ("li2022/shared", "cdp-gauss"),
    ("cdp-mab", "delta_prime"): ("li2022/shared", "cdp-gauss"),
    ("anonymous", "sink"): ("esfandiari2022/agent", "tests/audit/test_whole.py"),
    ("explore-then-commit", "sink"): ("esfandiari2022/agent", "tests/audit/test_whole.py"),
    ("tdfs-private", "counter"): ("agent/tree", "tdfs-honaker"),
    ("tdfs-private-bound", "counter"): ("agent/tree", "tdfs-honaker"),
}
"""The same of forms, by a word of their names."""


def held_in(name: str, form: str) -> tuple[str, str]:
    """The gate of a system's form, a path below posse or posse_systems, and its test."""
    special = [held for (of, word), held in _FORMS_SIZED.items() if of == name and word in form]
    return special[0] if special else _SIZED[name]


def tested_by(name: str, form: str) -> str:
    """The gate and the test in a cell."""
    gate, test = held_in(name, form)
    return f"`{gate}.py`: `{test}`"


LIED_IN = ("Keys", "Assign", "Survivors", "Settle", "Confirm", "Reveal", "Unmask")
"""Messages in which servers that lie were tried to lie."""


def held_by(who: str) -> str:
    """The gate through which all goes that this adversary sees, and the test that attacks it."""
    if not who.startswith(("the coordinator", "the server")):
        return ""
    if "lies" not in who:
        return "Gate: `agent/masking.py`; test: `tests/agent/test_masking.py`.\n\n"
    lied = ", ".join(f"`{name}`" for name in LIED_IN)
    return (
        "Gate: `agent/masking.py`; test: `tests/systems/test_liars.py`, by servers that lie in "
        f"{lied}, in other orders and again, alone and in league with agents; 980,000 drawn ones, "
        "in 45 min of a core, read no less than is claimed.\n\n"
    )


def _table(head: tuple[str, ...], rows: Rows) -> str:
    """Systems and forms with equal cells share a row."""
    lines = [_row(head), _row(("---",) * len(head))]
    for cells, of_form in rows.items():
        who = (", ".join([*names, *([form] if form else [])]) for form, names in of_form.items())
        lines.append(_row(("; ".join(who), *cells)))
    return "\n".join(lines) + "\n"


def _against(claim: Claim) -> str:
    """The adversary, or several."""
    return " and ".join(g.adversary for g in claim.guarantees) or claim.adversary


_ASIDE = re.compile(r" \(([^()]{25,})\)")
"""What a number says of itself at length."""


def _cells(claim: Claim, reasons: dict[str, int]) -> tuple[str, ...]:
    """The cells after the first; a sentence that `reasons` has not yet gets the next number."""
    number = "<br>".join(g.number for g in claim.guarantees) or "no ε"
    asides = [f"{aside[0].upper()}{aside[1:]}." for aside in _ASIDE.findall(number)]
    number = _ASIDE.sub("", number)
    accountant, several = "–", ["–"]
    if claim.delta and claim.holds:
        accountant = _accountant(claim.cost, claim.delta)
        several = [f"{claim.of_person(m).epsilon:.4g}" for m in SEVERAL]
    if not claim.holds:
        number = f"**does not hold**: {number}"
    sentences = [*_clauses(claim.proof), *re.split(_BETWEEN, claim.note), *asides]
    besides = claim.uncovered.removesuffix(TIMING).removesuffix("; ")
    if besides:
        sentences.append(f"Not covered: {besides}.")
    why = [reasons.setdefault(sentence, len(reasons) + 1) for sentence in sentences if sentence]
    return (
        _SHORT.get(claim.unit, claim.unit),
        number,
        ", ".join(several),
        accountant,
        ", ".join(map(str, why)),
    )


_BETWEEN = re.compile(r"(?<=\.) (?=[A-Z])")
"""Between two sentences."""


def _clauses(proof: str) -> list[str]:
    """The sentences of a proof, and what stands behind a semicolon as one of its own."""
    parts = re.split(rf"{_BETWEEN.pattern}|; (?![^()]*\))", proof)
    return [f"{part[0].upper()}{part[1:].removesuffix('.')}." for part in parts if part]


def _accountant(cost: Losses, delta: float) -> str:
    """The ε that dp-accounting finds for these losses at `delta`."""
    grid = {"value_discretization_interval": 1e-3}
    parts = [pld.from_laplace_mechanism(1 / c, **grid).self_compose(n) for c, n in cost.laplace]
    if cost.gaussian:
        parts.append(pld.from_gaussian_mechanism(cost.gaussian**-0.5, **grid))
    total = reduce(pld.PrivacyLossDistribution.compose, parts)
    return f"{total.get_epsilon_for_delta(delta):.4g}"


def _row(cells: tuple[str, ...]) -> str:
    return f"|{'|'.join(cell.replace('|', chr(92) + '|') for cell in cells)}|"
