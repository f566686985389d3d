"""Tables that are opened in spreadsheets."""

import csv
import io

import pytest

from posse.results import sheet


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ('=HYPERLINK("http://evil.example")', '\'=HYPERLINK("http://evil.example")'),
        ("+1", "'+1"),
        ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        (-1.5, "-1.5"),
        (None, ""),
        ("arm 3", "arm 3"),
    ],
)
def test_text_is_no_formula_and_numbers_are_numbers(cell: object, written: str) -> None:
    file = io.StringIO()
    sheet.write(file, ["name", cell], [[cell, 2]])
    assert list(csv.reader(io.StringIO(file.getvalue()))) == [["name", written], [written, "2"]]
