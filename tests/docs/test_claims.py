"""The page of claims does not drift from the claims."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import inspect

from docs.hooks import claims as page
from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.privacy import Claim
from posse.system import get_system
from tests.audit.plants import plan_of
from tests.systems.test_liars import TOLD

PAGE = Path(__file__).parents[2] / "docs" / "private.md"


@pytest.mark.slow  # the accountant's figures
def test_the_page_has_what_the_code_claims() -> None:
    built = page.on_page_markdown(PAGE.read_text())
    assert page.PLACE not in built
    for told in ("|`dp-mase`|one reward|ε = 1|–|–|", "### Why", "### Where nothing is protected"):
        assert told in built


def test_every_claim_says_why_it_holds_and_what_it_leaves_open() -> None:
    for name, form, run in page.forms():
        claim = prepare(run).claim
        if claim.mechanism == "none":
            assert claim.note, (name, form)
        elif claim.holds:
            assert claim.proof, (name, form)
            assert claim.uncovered, (name, form)
        else:
            assert claim.note, (name, form)


def test_each_claim_names_the_gate_and_the_test_that_are_there() -> None:
    root = Path(__file__).parents[2]
    said = {page.held_by(prepare(run).claim.adversary) for _, _, run in page.forms()}
    assert len(said) == 3
    said.add(page._HELD)
    for path in re.findall(r"`([^`]+\.py)`", " ".join(said)):
        assert (root / path).is_file()
    assert set(page.LIED_IN) == set(TOLD)


def test_each_row_names_a_gate_and_a_test_of_its_own_system() -> None:
    root = Path(__file__).parents[2]
    for name, form, run in page.forms():
        plan = prepare(run)
        if plan.claim.mechanism == "none":
            continue
        gate, test = page.held_in(name, form)
        folder = root / ("posse" if gate.startswith("agent/") else "systems/posse_systems")
        assert (folder / f"{gate}.py").is_file(), (name, form)
        if test.endswith(".py"):
            assert (root / test).is_file(), (name, form)
            continue
        planted = plan_of(test)
        assert planted.spec.system in (name, name.removesuffix("-bound")), (name, form)
        assert planted.claim.mechanism == plan.claim.mechanism, (name, form)


def choices(system: str) -> Iterator[tuple[str, Any]]:
    """Every value of every parameter of a system that has a few named ones."""
    info = inspect.type_info(get_system(system).parameters)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        kinds = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
        for kind in (k.type if isinstance(k, inspect.Metadata) else k for k in kinds):
            if isinstance(kind, inspect.LiteralType):
                yield from ((field.name, value) for value in kind.values)
            elif isinstance(kind, inspect.BoolType):
                yield from ((field.name, value) for value in (False, True))


def variations(system: str, run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The run with one parameter changed, in both variants, in the lab and in the field."""
    shared = system.startswith("tdfs") or system == "random-player"
    path = "log.csv" if shared else "log-{rank}.csv"
    logs = {"arms": {"kind": "csv", "path": path, "count": 16, "clip": [0.0, 1.0]}}
    for name, value in [("", None), *choices(system)]:
        parameters = {**run["parameters"], **({name: value} if name else {})}
        changed = {**run, "parameters": parameters}
        yield {**changed, "variant": "corrected"}
        yield {**changed, "variant": "printed"}
        yield {**changed, "variant": "corrected", "mode": "field", **logs}


def how(claim: Claim) -> tuple[object, ...]:
    """By what it is protected, or that it is not."""
    return claim.mechanism, claim.holds, claim.proof.partition(". ")[0]


def against(claim: Claim) -> tuple[object, ...]:
    """What is protected, against whom."""
    return claim.unit, claim.adversary, tuple(weaker.adversary for weaker in claim.besides)


def test_no_mode_of_a_system_claims_what_the_page_does_not_have() -> None:
    """Every named value of every parameter, in both variants, in the lab and in the field."""
    told: dict[str, tuple[set[object], set[object]]] = {}
    for name, _, run in page.forms():
        claim = prepare(run).claim
        ways, enemies = told.setdefault(name, (set(), set()))
        ways.add(how(claim))
        enemies.add(against(claim))
    tried = 0
    for name, _, run in page.forms():
        ways, enemies = told[name]
        for changed in variations(name, run):
            try:
                claim = prepare(changed).claim
            except SpecError:
                continue  # values that do not go together
            tried += 1
            assert how(claim) in ways, changed
            assert against(claim) in enemies, changed
    assert tried > 300
