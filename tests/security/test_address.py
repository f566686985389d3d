"""Addresses: which are local, which are none, and which need keys."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.cli.main import main
from posse.errors import PosseError
from posse.security import address
from posse.security.address import inbox_trouble, is_loopback, join, plain, split


def test_an_open_address_needs_keys_or_the_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "--join", "tcp://10.1.2.3:7000"]) == 2
    assert "make them with posse keys" in capsys.readouterr().err
    assert main(["agent", "--join", "tcp://h:1", "--insecure", "--keys", str(tmp_path)]) == 2
    assert "contradict" in capsys.readouterr().err


def test_a_name_that_begins_like_loopback_is_not_local(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [
        address.is_local(f"tcp://{host}:7000")
        for host in ("127.0.0.1", "127.9.9.9", "localhost", "127.example.org", "0.0.0.0", "*", "h")
    ] == [True, True, True, False, False, False, False]
    assert address.is_local("ipc:///tmp/x")
    assert address.is_local("tcp://[::1]:7000")
    assert not any(address.is_local(f"tcp://[{host}]:7000") for host in ("::", "2001:db8::1"))
    assert main(["agent", "--join", "tcp://127.example.org:7000"]) == 2
    assert "there are no keys; make them with posse keys" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "nonsense", "tcp://h", "tcp://:7000", "tcp://h:70000", "tls://h:1"),
        f"tcp://{'h' * 64}:7000",
        *("tcp://::1:7", "tcp://[h]:7", "tcp://[::1:7", "tcp://[192.0.2.1]:7"),
    ],
)
def test_what_is_no_address_is_said_before_anything_starts(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "--insecure", "--join", wrong]) == 2
    assert f"--join {wrong}: must be tcp://HOST:PORT, as in" in capsys.readouterr().err
    with pytest.raises(PosseError, match="^--bind "):
        address.check("--bind", wrong, bind=True)


def test_any_port_may_be_bound_and_none_joined() -> None:
    address.check("--inbox", "tcp://h:*", bind=True)
    with pytest.raises(PosseError, match=r"--join tcp://h:\*: must be"):
        address.check("--join", "tcp://h:*")


@pytest.mark.parametrize(
    ("whole", "host", "port"),
    [
        ("tcp://192.0.2.1:7000", "192.0.2.1", "7000"),
        ("tcp://[2001:db8::1]:*", "2001:db8::1", "*"),
        ("tcp://name:7", "name", "7"),
    ],
)
def test_host_and_port_are_taken_apart_and_put_together(whole: str, host: str, port: str) -> None:
    address.check("--bind", whole, bind=True)
    assert address.split(whole) == (host, port)
    assert address.join(host, port) == whole


def test_an_ipv4_address_that_came_as_ipv6_is_one_again() -> None:
    assert address.plain("::ffff:192.0.2.1") == "192.0.2.1"
    assert address.plain("2001:DB8:0::1") == "2001:db8::1"
    for same in ("192.0.2.1", "", "a name"):
        assert address.plain(same) == same


@given(st.ip_addresses(), st.integers(1, 65535))
def test_an_address_is_put_together_as_it_is_taken_apart(host: Any, port: int) -> None:
    address = join(str(host), str(port))
    assert split(address) == (str(host), str(port))
    assert inbox_trouble(address, str(host), ()) == ""
    assert plain(str(host)) in (str(host), str(getattr(host, "ipv4_mapped", host)))
    assert not is_loopback(str(host)) or host.is_loopback


@given(st.text(max_size=40), st.ip_addresses())
def test_what_is_no_address_is_no_inbox_whatever_it_is(inbox: str, host: Any) -> None:
    """And the sentence that says so prints on one line."""
    trouble = inbox_trouble(inbox, str(host), ())
    assert trouble.isprintable()
    assert trouble or inbox.startswith("tcp://")
