"""What a system may declare as a figure."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.results.figures import Figure

ABOUT: dict[str, Any] = {"title": "Votes", "y": "arm", "values": lambda run, arms: []}


@given(st.text("ab-_2./A", min_size=1, max_size=6), st.sampled_from(["points", "line", "pie"]))
@example("votes-2", "points")
@example("../x", "line")
@example("x", "pie")
def test_its_name_is_fit_for_a_file_and_its_style_is_known(name: str, style: Any) -> None:
    if not re.fullmatch("[a-z][a-z0-9-]*", name):
        with pytest.raises(ValueError, match=r"the figure '.*': must be named in a-z, 0-9 and -"):
            Figure(name=name, style=style, **ABOUT)
    elif style == "pie":
        with pytest.raises(ValueError, match="its style is 'pie'; it must be one of line, steps"):
            Figure(name=name, style=style, **ABOUT)
    else:
        assert Figure(name=name, style=style, **ABOUT).caption == ""
