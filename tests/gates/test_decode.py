"""Whatever bytes come, they are what they should be or one error; and nobody decodes elsewhere."""

import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.gates.decode import Packed, Undecodable, from_json, rows, unpacked
from posse.hosts.agent_setup import AgentSetup

BAD_TEXT = b"\x81\xa6system\xa4\xff\xff\xff\xff"
DEEP = b"\x91" * 100_000
READERS: tuple[Callable[[bytes], object], ...] = (
    unpacked,
    from_json,
    Packed(AgentSetup).read,
    Packed(dict[str, int]).read,
    lambda data: from_json(data, dict[str, int]),
)


@given(st.binary(max_size=60))
@example(BAD_TEXT)
@example(DEEP)
@example(b"[" * 100_000)
@example(b'"\xff"')
@example(b'"\\ud800"')
@example(b'{"a": 1e400}')
def test_bytes_are_a_value_or_one_error(data: bytes) -> None:
    for read in READERS:
        try:
            read(data)
        except Undecodable as error:
            assert str(error).isprintable()


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\uDFFF": 1}', '["\\udc00\\ud800"]'])
def test_half_a_character_is_no_text(text: str) -> None:
    """Nothing that encodes text could take it."""
    with pytest.raises(Undecodable, match="surrogates not allowed"):
        from_json(text)
    assert from_json('"\\ud83d\\ude00 \\\\ud800"') == "\U0001f600 \\ud800"


def test_rows_of_a_table_are_text_or_one_error() -> None:
    assert list(rows(["a;b\n", '"c\n', 'd";e'], ";")) == [["a", "b"], ["c\nd", "e"]]
    for lines in (['a,"b\n'], ["a" * 200_000], ['a,"b"c\n']):
        with pytest.raises(Undecodable):
            list(rows(lines))


def test_what_was_written_is_read() -> None:
    assert Packed(tuple[str, bytes]).read(msgspec.msgpack.encode(("a", b"b"))) == ("a", b"b")
    assert from_json('{"a": [1, NaN]}')["a"][0] == 1
    with pytest.raises(Undecodable, match="Expected `int`, got `str`"):
        Packed(int).read(b"\xa1a")


@pytest.mark.parametrize(
    "call",
    [
        "import json\njson.loads(data)",
        "from json import load\nload(file)",
        "import msgspec\nmsgspec.msgpack.decode(data)",
        "from msgspec import msgpack as m\nm.Decoder(int)",
        "import msgspec.json\nmsgspec.json.decode(data)",
        "from msgpack import unpackb\nunpackb(data)",
    ],
)
@pytest.mark.parametrize("file", ["posse/operate/planted.py", "agent/planted.py"])
def test_a_way_around_the_gate_is_refused_by_the_linter(call: str, file: str) -> None:
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", file]
    linted = subprocess.run([*ruff, "-"], input=call, capture_output=True, text=True, check=False)
    assert "use posse.gates.decode" in linted.stdout
