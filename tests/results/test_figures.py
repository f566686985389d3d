"""What a system may declare as a figure."""

from typing import Any

import pytest

from posse.results.figures import Figure

ABOUT: dict[str, Any] = {"title": "Votes", "y": "arm", "values": lambda run, arms: []}


def test_its_name_is_fit_for_a_file_and_its_style_is_known() -> None:
    assert Figure(name="votes-2", style="points", **ABOUT).caption == ""
    with pytest.raises(ValueError, match=r"the figure '\.\./x': must be named in a-z, 0-9 and -"):
        Figure(name="../x", style="line", **ABOUT)
    unknown: Any = "pie"
    with pytest.raises(ValueError, match="its style is 'pie'; it must be one of line, steps"):
        Figure(name="x", style=unknown, **ABOUT)
