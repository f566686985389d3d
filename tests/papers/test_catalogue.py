"""The pages of experiments."""

import json
import re
from pathlib import Path

from posse_papers import catalogue
from posse_papers.reproduction import from_kept

_DOCS = Path(__file__).parents[2] / "docs"
_NAME = r"`(audits|(?:rio|dubey|robust|tossou|esfandiari|li|noise)-[\w-]+)`"


def test_the_page_of_verdicts_has_every_experiment_and_no_other():
    page = (_DOCS / "reproduction.md").read_text()
    assert set(re.findall(_NAME, page)) == set(catalogue.experiments())


def test_the_page_of_verdicts_is_what_its_outcomes_give():
    """`posse paper --all --quick --document docs/reproduction.md` writes both."""
    kept = (_DOCS / "reproduction.json").read_text()
    assert from_kept(kept, catalogue.experiments()) == (_DOCS / "reproduction.md").read_text()


def test_the_page_of_verdicts_has_the_statements_of_today():
    kept = (_DOCS / "reproduction.json").read_text().splitlines()
    told = {one["name"]: [s["text"] for s in one["statements"]] for one in map(json.loads, kept)}
    asked = catalogue.experiments().values()
    assert told == {one.name: [s.text for s in one.statements] for one in asked}


def test_the_page_of_experiments_names_none_that_there_is_not():
    named = set(re.findall(_NAME, (_DOCS / "experiments.md").read_text()))
    assert named <= set(catalogue.experiments())


def test_nothing_is_borne_out_without_an_alternative_that_is_refuted():
    lines = (_DOCS / "reproduction.json").read_text().splitlines()
    statements = [s for line in lines for s in json.loads(line)["statements"]]
    findings = [f for s in statements for f in s["found"].values() if f["answer"] == "borne out"]
    assert len(findings) > 100
    assert [finding for finding in findings if not finding.get("power")] == []
