"""An experiment's page in a real browser."""

import pytest

from posse_papers import conduct, page
from posse_papers.experiment import Axes
from tests.papers.test_conduct import small
from tests.report.test_browser import CUT_OFF
from tests.support.browser import CHROMIUM, Browser


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
@pytest.mark.parametrize("shape", ["points", "bars"])
def test_an_experiments_page_is_whole(tmp_path, shape):
    experiment = small().but(axes=Axes("agents", "rounds", shape=shape), limit=1000.0)
    outcome = conduct.conduct(experiment, quick=True, jobs=1)
    page.outcome_page(outcome).write(tmp_path / "report.html")
    with Browser() as browser:
        for width in (375, 1440):
            browser.messages.clear()
            browser.open(tmp_path / "report.html", width=width)
            assert browser.evaluate(CUT_OFF) == []
            assert browser.messages == []
            assert browser.evaluate("document.querySelectorAll('figure svg').length") == 2
