"""No bytes make a decoder or a reader of files raise but by name: what was found, and mutations.

`make fuzz` does the same for as long as it is told, led by coverage.
"""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz import seeds
from tests.fuzz.readers import READERS, REFUSALS

EXAMPLES = 8

pytestmark = pytest.mark.filterwarnings("ignore")

Edit = tuple[float, float, bytes]

# a place, how much is taken out there, and what is put in
edits = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.0, 0.01, 0.5]), st.binary(max_size=6)),
    min_size=1,
    max_size=3,
)


def edited(data: bytes, changes: list[Edit]) -> bytes:
    for place, part, new in changes:
        start = int(place * len(data))
        data = data[:start] + new + data[start + max(len(new), int(part * len(data))) :]
    return data


def reads(reader: str, folder: Path, data: bytes) -> None:
    with suppress(*REFUSALS):
        READERS[reader](folder, data)


@pytest.mark.parametrize("reader", READERS)
def test_what_was_found_is_refused_or_read(reader: str, tmp_path: Path) -> None:
    for data in seeds.of(reader, tmp_path):
        reads(reader, tmp_path, data)
    for data in (b"", b"\0", b"\xff" * 100):
        reads(reader, tmp_path, data)


def test_what_is_valid_is_read(tmp_path: Path) -> None:
    for reader in sorted(
        READERS.keys() - {"session", "run-file"}
    ):  # a run file is read by many tests
        (first, *_) = seeds.of(reader, tmp_path)
        READERS[reader](tmp_path, first)


@pytest.mark.parametrize("reader", READERS)
def test_no_mutation_raises_but_by_name(reader: str, tmp_path: Path) -> None:
    valid = seeds.of(reader, tmp_path)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(valid), edits)
    def mutated(data: bytes, changes: list[Edit]) -> None:
        reads(reader, tmp_path, edited(data, changes))

    mutated()
