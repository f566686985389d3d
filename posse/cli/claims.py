"""docs/claims.md: every system's claim, in each of its forms, from the claims that runs make."""

from collections.abc import Iterator
from typing import Any

from posse.claims.base import ILLUSTRATES
from posse.plan import prepare
from posse.systems import names
from posse.systems.base import Field
from protocol.privacy import Claim

_HEAD = f"""# What is claimed

Written by `posse list claims > docs/claims.md`; do not edit. A test holds that the page is what
the code claims, for M = 16 agents, K = 16 arms, T = 10,000 and ε = 1 (.1 for `private-ucb` and
`dp-ucb-int`). `posse check RUN.toml` says it of your own run, and so do the closing table, the
report and, in the field, each agent's own log.

- **Unit**: what is exchanged for something else in a neighbouring input. The value of one reward
  is protected, its arm and place fixed: a row of a log that is taken out, or moved to another arm,
  shifts all that come after it into other statistics. Who is behind m rewards is protected m times
  less.
- **Number**: ε, and δ where there is one, against that adversary, over a whole run. A second run
  over the same rewards costs as much again; in the field a row is used in one run, unless the run
  file says otherwise (`[privacy]`).
- **Not covered**, in every system: who sends to whom, how much and when; the end of a run where a
  reward is no number in [0, 1] and `arms.clip` is not set, or where the user's own arms raise; that
  an agent's log is used up, or has a line that cannot be read.

The claims are the field's. {ILLUSTRATES}

"""

_COLUMNS = ("system, form", "unit", "against", "number", "why", "not covered")

Form = tuple[str, dict[str, Any], dict[str, Any]]
"""What a form is called, its parameters, and what else its run file says."""

_ONE = {"horizon": 10_000, "epsilon": 1.0}
_RATE = {"horizon": 10_000, "epsilon": 0.1}
_GROUPS = {"horizon": 10_000, "group_size": 2}
_RING: dict[str, Any] = {"topology": {"kind": "ring"}}
_PRINTED: dict[str, Any] = {"variant": "printed"}
_FIELD: dict[str, Any] = {
    "mode": "field",
    "arms": {"kind": "csv", "path": "rewards.csv", "count": 16, "clip": [0.0, 1.0]},
}

_PLAIN: Form = ("", {"horizon": 10_000}, {})
_NOTHING_ASKED: Form = ("", {}, {})
_PLAYERS: list[Form] = [
    ("`shared_sample = true`, the lab's default", _ONE, {}),
    ('the same, `offsets = "found"`', {**_ONE, "offsets": "found"}, {}),
    ("`shared_sample = false`, the field's default", _ONE, _FIELD),
    ('the same, `counter = "tree"` or `"honaker"`', {**_ONE, "counter": "honaker"}, _FIELD),
    ('the same, `split = "tossou"`', {**_ONE, "split": "tossou"}, _FIELD),
]


def _with(name: str, value: Any, parameters: dict[str, Any], **more: Any) -> Form:
    """The form that one parameter makes."""
    said = f'"{value}"' if isinstance(value, str) else value
    return (f"`{name} = {said}`", {**parameters, name: value}, more)


_PRINTED_NOISE: Form = ('`noise = "printed"`, the lab\'s default', _ONE, {})
_PER_AGENT: Form = (
    '`noise = "per_agent"`, the field\'s default',
    {**_ONE, "noise": "per_agent"},
    {},
)


def _on_ring(form: Form) -> Form:
    """The form where agents talk to each other."""
    name, parameters, more = form
    return name, parameters, {**more, **_RING}


_FORMS: dict[str, list[Form]] = {
    "mase": [_NOTHING_ASKED],
    "dp-mase": [("", {"epsilon": 1.0}, {})],
    "corrupted-elimination": [("", {"xi": 0.1}, {})],
    "central": [_NOTHING_ASKED],
    "independent": [_NOTHING_ASKED],
    "private-ucb": [
        ("", _RATE, _RING),
        ("printed", _RATE, {**_RING, **_PRINTED}),
        _with("releases", "doubling", _ONE, **_RING),
        _with("noise_at", "destination", _ONE, **_RING),
    ],
    "byzantine-ucb": [("", {"horizon": 10_000}, _RING)],
    "robust-private-ucb": [("", _ONE, _RING)],
    "cooperative-ucb": [("", {"horizon": 10_000}, _RING)],
    "ucb1": [_PLAIN],
    "dp-ucb-int": [("", _RATE, {}), ("printed", _RATE, _PRINTED)],
    "adap-ucb": [("", _ONE, {})],
    "tdfs-ucb": [_PLAIN],
    "tdfs-private-bound": _PLAYERS,
    "tdfs-private": _PLAYERS,
    "random-player": [_PLAIN],
    "anonymous": [("", _GROUPS, {}), _with("aggregation", "sink", _GROUPS)],
    "explore-then-commit": [("", _GROUPS, {})],
    "parallel-ucb": [_PLAIN],
    "cdp-mab": [
        _PRINTED_NOISE,
        _with("participation", 0.5, _ONE),
        _PER_AGENT,
        _with("noise", "shared", _ONE),
    ],
    "ddp-mab": [_on_ring(_PRINTED_NOISE), _on_ring(_PER_AGENT)],
    "hdp-mab": [_on_ring(_PRINTED_NOISE), _on_ring(_PER_AGENT)],
    "single-mab": [("", _ONE, {})],
}


def forms() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every system's forms: its name, what the form is called, a run file of it."""
    for name in names():
        for form, parameters, more in _FORMS[name]:
            yield (
                name,
                form,
                {
                    "system": name,
                    "agents": {"count": 16},
                    "arms": {"kind": "bernoulli", "means": {"random": "uniform", "count": 16}},
                    "parameters": parameters,
                    **more,
                },
            )


def text() -> str:
    """The page."""
    rows = [_row(_COLUMNS), _row(("---",) * len(_COLUMNS))]
    for name, form, run in forms():
        plan = prepare(run)
        said = f"`{name}`" + (f", {form}" if form else "")
        if not isinstance(plan.system.field, Field):
            said += " (lab only)"
        rows.append(_row((said, *_cells(plan.claim))))
    return _HEAD + "\n".join(rows) + "\n"


def _cells(claim: Claim) -> tuple[str, ...]:
    """Unit, adversary, number, why, what is not covered."""
    if claim.mechanism == "none":
        return ("nothing is protected", "–", "–", claim.note, "every reward")
    against = "<br>".join(g.adversary for g in claim.guarantees) or claim.adversary
    number = "<br>".join(g.number for g in claim.guarantees) or "no ε"
    if not claim.holds:
        number = f"**does not hold**: {number}"
    why = " ".join(part for part in (claim.proof, claim.note) if part)
    return (claim.unit, against, number, why, claim.uncovered)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
