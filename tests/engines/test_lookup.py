"""What addresses mean on this machine."""

import pytest

from posse.engines.lookup import own_address, unresolved


@pytest.mark.parametrize(
    "endpoint", ["ipc:///tmp/x", "inproc://x", "tcp://127.0.0.1:7000", "tcp://localhost:7000"]
)
def test_addresses_that_mean_something(endpoint: str) -> None:
    assert unresolved(endpoint) == ""
    assert own_address(endpoint) == "127.0.0.1"


def test_a_name_that_means_nothing_is_said() -> None:
    said = unresolved("tcp://no-such-host.invalid:7000")
    assert said.startswith("the name no-such-host.invalid does not resolve (")
