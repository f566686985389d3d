"""Prints docs/claims.md: every system's claim, in each of its forms, by the code of runs.

`make docs` writes the page; a test holds that it is up to date.
"""

import re
import sys
from collections.abc import Iterator
from functools import reduce
from typing import Any

import msgspec
from dp_accounting.pld import privacy_loss_distribution as pld

from posse.families import get_system, ours
from posse.families.claims import SEVERAL, TIMING
from posse.families.system import Field
from posse.plan import prepare
from posse.protocol.accounting import Losses
from posse.protocol.privacy import REWARD, Claim
from posse.results.record import ILLUSTRATES

_HEAD = f"""# What is claimed

This page is written by `make docs`; do not edit it. A test checks that it
is what the code claims, for M = 16 agents, K = 16 arms, T = 10,000 and ε = 1 (.1 for `private-ucb`
and `dp-ucb-int`). `posse check RUN.toml` prints the claim of your own run, and so do the closing
table, the report and, in the field, each agent's own log.

The claims are the field's.
{ILLUSTRATES}

## What is protected

- **Protected**: what differs between neighbouring inputs. *One reward* is
  {REWARD}: removing a row from a log, or
  moving it to another arm, shifts all later rows into other statistics. *One sample* is the same of
  a player's sample. A person behind m rewards is protected m times
  less (m ε) where the number has no δ; where it has one, by more than that, as the table says.
- **Number**: ε, and δ if there is one, against that adversary, over a whole run. A second run over
  the same rewards costs as much again; in the field a row is used in one run only, unless the run
  file says otherwise (`[privacy]`).
- **Accountant**: the ε for one unit that Google's dp-accounting finds at that δ, by privacy loss
  distributions on a grid of .001, rounded up. Without a δ both add up the ε of all releases.
- **Not covered**, in every system: who sends to whom, how much and when, and so how long the
  rewards before a message took; that a run ends because a reward is not a number in [0, 1] and
  `arms.clip` is not set, or because the user's own arms raise; that an agent's log is used up, or
  has a line that cannot be read. The table has what is not covered besides.
- **Why**: by number of a sentence [below](#why).

"""

_WHY = """
## Why

"""

_NOTHING = """
## Where nothing is protected

No reward is covered.

"""

_COLUMNS = (
    "system, form",
    "protected",
    "number",
    "accountant",
    "against",
    "not covered besides",
    "why",
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
    """The page."""
    claims = [(name, form, prepare(run)) for name, form, run in forms()]
    reasons: dict[str, int] = {}
    covered: Rows = {}
    nothing: Rows = {}
    for name, form, plan in claims:
        claim = plan.claim
        rows, cells = (
            (nothing, (claim.note,))
            if claim.mechanism == "none"
            else (covered, _cells(claim, reasons))
        )
        lab_only = "" if isinstance(plan.system.field, Field) else " (lab only)"
        rows.setdefault(cells, {}).setdefault(form, []).append(f"`{name}`{lab_only}")
    why = "".join(f"{number}. {reason}\n" for reason, number in reasons.items())
    return (
        f"{_HEAD}{_table(_COLUMNS, covered)}{_WHY}{why}"
        f"{_NOTHING}{_table(('system, form', 'what is learned'), nothing)}"
    )


def _table(head: tuple[str, ...], rows: Rows) -> str:
    """Systems and forms with equal cells share a row."""
    lines = [_row(head), _row(("---",) * len(head))]
    for cells, of_form in rows.items():
        who = (", ".join([*names, *([form] if form else [])]) for form, names in of_form.items())
        lines.append(_row(("; ".join(who), *cells)))
    return "\n".join(lines) + "\n"


def _cells(claim: Claim, reasons: dict[str, int]) -> tuple[str, ...]:
    """The cells after the first; a sentence that `reasons` has not yet gets the next number."""
    against = "<br>".join(g.adversary for g in claim.guarantees) or claim.adversary
    number = "<br>".join(g.number for g in claim.guarantees) or "no ε"
    if claim.delta and claim.holds:
        number += "".join(f"<br>{m} rewards: {claim.of_person(m).number}" for m in SEVERAL)
    if not claim.holds:
        number = f"**does not hold**: {number}"
    sentences = re.split(r"(?<=\.) (?=[A-Z])", f"{claim.proof} {claim.note}".strip())
    why = [reasons.setdefault(sentence, len(reasons) + 1) for sentence in sentences if sentence]
    besides = claim.uncovered.removesuffix(TIMING).removesuffix("; ")
    return (
        _SHORT.get(claim.unit, claim.unit),
        number,
        _accountant(claim.cost, claim.delta) if claim.delta and claim.holds else "–",
        against,
        besides or "–",
        ", ".join(map(str, why)),
    )


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


if __name__ == "__main__":
    sys.stdout.write(text())
