"""The pages of experiments, and what every statement of theirs must have."""

import re
from pathlib import Path

import pytest

from docs.hooks import papers
from posse_papers import catalogue, record
from posse_papers.experiment import Experiment
from posse_papers.outcome import Told

_DOCS = Path(__file__).parents[2] / "docs"
_PLACES = {"reproduction.md": "verdicts", "ledger.md": "ledger"}
_NAME = r"`(audits|(?:rio|dubey|robust|tossou|esfandiari|li|noise)-[\w-]+)`"


@pytest.fixture(scope="module")
def told() -> dict[str, Told]:
    return {one.name: one for one in record.recorded() if one.form == "quick"}


@pytest.mark.parametrize("page", _PLACES)
def test_the_site_has_what_the_recorded_outcomes_give(told, page):
    source = (_DOCS / page).read_text()
    built = papers.on_page_markdown(source)
    assert built.startswith(source.partition("\n")[0])
    assert f"<!-- {_PLACES[page]} -->" not in built
    assert built.count("\n|") > 200
    assert set(told) == set(catalogue.experiments())


def test_the_page_of_verdicts_has_the_statements_of_today(told):
    def choices(of):
        return [choice for choice, _ in of.tests]

    for experiment in catalogue.experiments().values():
        recorded = told[experiment.name].statements
        assert [said.text for said in recorded] == [of.text for of in experiment.statements]
        for said, of in zip(recorded, experiment.statements, strict=True):
            tried = [{k: v for k, v in one.choice.items() if k != "form"} for one in said.found]
            assert tried[: len(of.tests)] == choices(of)


@pytest.mark.parametrize("page", ["ledger.md", "findings.md"])
def test_pages_name_no_experiment_that_there_is_not(page):
    named = set(re.findall(_NAME, papers.on_page_markdown((_DOCS / page).read_text())))
    assert named <= set(catalogue.experiments())


def test_nothing_is_borne_out_without_a_wrong_world_that_is_refuted(told):
    tried = [one for of in told.values() for said in of.statements for one in said.found]
    borne = [one for one in tried if one.answer == "borne out"]
    assert len(borne) > 200
    assert all(one.refuted for one in borne)


@pytest.mark.parametrize("experiment", catalogue.experiments().values(), ids=lambda of: of.name)
def test_a_limit_of_ours_is_a_choice(experiment: Experiment) -> None:
    """What we made precise, "(here: …)", is declared as one choice of several."""
    texts = [statement.text for statement in experiment.statements]
    assert not [text for text in texts if "(here" in text]
    assert len(set(texts)) == len(texts)
    for statement in experiment.statements:
        choices = [tuple(choice.items()) for choice, _ in statement.tests]
        assert len(set(choices)) == len(choices)
        assert len(choices) == 1 or all(choices)
