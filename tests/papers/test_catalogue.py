"""The page of experiments."""

import re
from pathlib import Path

from posse_papers import catalogue


def test_the_table_of_experiments_names_every_experiment_and_no_other():
    text = (Path(__file__).parents[2] / "docs/experiments.md").read_text()
    named = set(
        re.findall(r"`(audits|(?:rio|dubey|robust|tossou|esfandiari|li|noise)-[\w-]+)`", text)
    )
    assert named == set(catalogue.experiments())
