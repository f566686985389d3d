"""The page of experiments."""

import re
from pathlib import Path

from posse import papers


def test_the_table_of_experiments_names_every_experiment_and_no_other():
    text = (Path(__file__).parents[2] / "docs/experiments.md").read_text()
    named = set(re.findall(r"`((?:rio|dubey|tossou|esfandiari|li|noise)-[\w-]+)`", text))
    for first, last in re.findall(r"`(\w+-\d\w?)` to `(\w+-\d\w?)`", text):
        stem, last_letter = first[:-1], last[-1]
        named |= {stem + chr(c) for c in range(ord(first[-1]), ord(last_letter) + 1)}
    assert named == set(papers.experiments())
