"""What `posse check` accepts runs, whatever is done with it; `tests.fuzz.run_files` says how."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz import run_files
from tests.fuzz.verbs import Verbs

EXAMPLES = 50

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def verbs() -> Iterator[Verbs]:
    with Verbs() as process:
        yield process


@pytest.mark.timeout(600)
def test_whatever_the_schema_allows_runs_or_is_refused_in_a_sentence(verbs: Verbs) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(run_files.run_files(), st.sampled_from(run_files.VERBS))
    def holds(raw: dict, verb: str) -> None:
        assert list(run_files.failures(verbs, raw, (verb,))) == []

    run_files.load()
    holds()


def test_what_once_failed_runs_or_is_refused(verbs: Verbs) -> None:
    for name, raw, chosen in run_files.kept():
        assert list(run_files.failures(verbs, raw, chosen)) == [], name
