"""What docs/security.md says of holders of keys, old and new, while the allowlist changes.

Whatever order the operator's commands and spoilt lists come in, a running coordinator believes the
keys of the last list that it could read, each for its own rank, and no other key.
"""

import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from posse.security import keys
from tests.support.adversary import plays

AGENTS = 3
PAIRS = [keys._fresh().public_keys for _ in range(12)]


class KeyHolders(RuleBasedStateMachine):
    """`listed`: what the last list has that could be read; `held`: every key that ever was."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        keys.create(self.folder, AGENTS)
        self.mine = self.folder / "coordinator"
        self.list = self.mine / keys.ALLOWLIST
        self.ours = keys.for_coordinator(self.folder, AGENTS)
        self.listed = dict(keys._listed(self.mine))
        self.held = {*self.listed.values(), *PAIRS}
        self.whole = ""

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(rank=st.integers(0, AGENTS), pair=st.sampled_from(PAIRS))
    def allows(self, rank: int, pair: keys.Public) -> None:
        self.mends()
        if pair not in self.listed.values():
            keys.allow(self.mine, str(rank), pair)
            self.listed[rank] = pair

    @rule(rank=st.integers(0, AGENTS))
    def revokes(self, rank: int) -> None:
        self.mends()
        if self.listed.pop(rank, None) is not None:
            keys.revoke(self.mine, rank)

    @rule(tail=st.sampled_from(["[oops", "\n0 = 1\n", "\xff", "\nagents = 1"]))
    def spoils_the_list(self, tail: str) -> None:
        self.mends()
        self.whole = self.list.read_text()
        self.list.write_text(self.whole + tail)

    @rule()
    def mends(self) -> None:
        if self.whole:
            self.list.write_text(self.whole)
            self.whole = ""

    @invariant()
    def who_is_believed_is_in_the_list(self) -> None:
        ranks = {public.connects: rank for rank, public in self.listed.items()}
        for public in self.held:
            assert self.ours.rank_of(public.connects) == ranks.get(public.connects)
            for rank in range(AGENTS + 1):
                believed = self.ours.believes(rank, public.connects)
                assert believed == (ranks.get(public.connects) == rank)
        assert self.ours.signers == {rank: public.signs for rank, public in self.listed.items()}
        assert bool(self.ours.trouble) == bool(self.whole)


def test_keys_are_believed_as_the_list_has_them_in_whatever_order_it_changes() -> None:
    plays(KeyHolders, orders=20, steps=20)
