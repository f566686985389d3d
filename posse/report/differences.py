"""In what series differ, and what each is called by that."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from posse.errors import InputError
from posse.reading.folder import Series

CHANCE = ("seed", "repeat")
"""Keys in which series may differ without being of another kind."""


def require_same_arms(series: list[Series]) -> None:
    """Raise `InputError` unless all had the same arms, with a sentence on what differs."""
    first, *others = series
    mine = msgspec.to_builtins(first.spec.arms)
    for other in others:
        theirs = msgspec.to_builtins(other.spec.arms)
        differ = "; ".join(
            f"{key}: {brief(mine.get(key))} against {brief(theirs.get(key))}"
            for key in {**mine, **theirs}
            if mine.get(key) != theirs.get(key)
        )
        if differ:
            raise InputError(
                f"{first.path} and {other.path} do not fit together: their arms differ "
                f"({differ}); compare runs on the same [arms]"
            )


def brief(value: Any) -> str:
    """A value, shortened."""
    text = "absent" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def varied(series: list[Series]) -> list[str]:
    """The keys in which the series differ; where they were run from is none of them."""
    tables = [s.keys for s in series]
    names = sorted({name for table_ in tables for name in table_})
    return [
        name
        for name in names
        if name not in ("base", "repeat") and len({str(table_.get(name)) for table_ in tables}) > 1
    ]


def label_of(key: str, value: Any) -> str:
    """What sets a series apart, for a legend: a system by its name, other keys with their value."""
    name = key.rpartition(".")[2]
    if key == "system":
        return brief(value)
    return f"default {name}" if value is None else f"{name} = {brief(value)}"


def ordered(labels: list[str]) -> bool:
    """Whether labels differ by one number alone, and stand in its order: "p = 1", "p = 2", …

    A label of several, as `together` makes it ("p = 1, 2"), stands by its first.
    """
    parts = [label.rpartition(" = ") for label in labels]
    try:
        values = [float(value.partition(",")[0]) for _, _, value in parts]
    except ValueError:
        return False
    in_order = values in (sorted(values), sorted(values, reverse=True))
    return len({key for key, _, _ in parts}) == 1 < len(labels) - 1 and in_order


def together(labels: Sequence[str]) -> str:
    """Several labels as one: "p = 1, 2" where they differ by one value alone, else "a and b"."""
    parts = [label.rpartition(" = ") for label in labels]
    key = parts[0][0]
    if len(parts) > 1 and key and all(part[0] == key for part in parts):
        return f"{key} = {', '.join(value for _, _, value in parts)}"
    return " and ".join(labels)


def apart(series: list[Series], axis: str | None = None) -> list[str]:
    """What sets each apart but chance and an axis: its system, and what else differs in that."""
    tables = [s.keys for s in series]
    keys = [key for key in varied(series) if key not in ("system", axis, *CHANCE)]
    called = _systems({table["system"] for table in tables})
    labels = []
    for mine in tables:
        alike = [other for other in tables if other["system"] == mine["system"]]
        parts = [
            label_of(key, mine.get(key))
            for key in keys
            if len({str(other.get(key)) for other in alike}) > 1
        ]
        system = [called[mine["system"]]] if len(alike) < len(tables) or not parts else []
        labels.append(", ".join([*system, *parts]))
    return labels


def _systems(systems: set[str]) -> dict[str, str]:
    """What each system is called: one of the user's without its module, if that suffices."""
    short = {system: system.rpartition(":")[2] for system in systems}
    return short if len(set(short.values())) == len(systems) else {name: name for name in systems}


def names(series: list[Series]) -> list[str]:
    """What sets each apart, each by a name of its own."""
    labels = apart(series)
    if len(set(labels)) < len(labels):
        labels = [f"{name}, seed {s.spec.seed}" for name, s in zip(labels, series, strict=True)]
    twice = {name for name, count in Counter(labels).items() if count > 1}
    return [
        f"{name} ({labels[:n].count(name) + 1})" if name in twice else name
        for n, name in enumerate(labels)
    ]
