"""What anonymous bandits claim."""

import pytest

from tests.support.claims import plan


@pytest.mark.parametrize(("mode", "there"), [("lab", True), ("field", False)])
def test_only_the_lab_has_a_closing_report_of_every_user(mode: str, there: bool) -> None:
    claim = plan("anonymous", 8, mode=mode, parameters={"horizon": 100, "group_size": 2}).claim
    assert ("closing report" in claim.uncovered) == there
