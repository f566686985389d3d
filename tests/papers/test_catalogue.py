"""The pages of experiments."""

import re
from pathlib import Path

from posse_papers import catalogue

_DOCS = Path(__file__).parents[2] / "docs"
_NAME = r"`(audits|(?:rio|dubey|robust|tossou|esfandiari|li|noise)-[\w-]+)`"


def test_the_page_of_verdicts_has_every_experiment_and_no_other():
    page = (_DOCS / "reproduction.md").read_text()
    assert set(re.findall(_NAME, page)) == set(catalogue.experiments())


def test_the_page_of_experiments_names_none_that_there_is_not():
    named = set(re.findall(_NAME, (_DOCS / "experiments.md").read_text()))
    assert named <= set(catalogue.experiments())


def test_nothing_is_borne_out_without_an_alternative_that_is_refuted():
    rows = re.findall(r"^\|.*\*\*yes\*\*.*$", (_DOCS / "reproduction.md").read_text(), flags=re.M)
    assert len(rows) > 100
    assert [row for row in rows if row.endswith("||")] == []
