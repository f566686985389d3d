"""Choose among eight classifiers on private records: `python examples/model_selection/run.py`."""

import sys
import time
from collections import Counter
from pathlib import Path

import posse
from posse_systems.rio2023.messages import EliminationRow, VoteRow

HERE = Path(__file__).parent
sys.path.append(str(HERE))

from digits import NAMES, PUBLIC, correct, split  # noqa: E402


def found(run: posse.RunRecord, agents: int) -> None:
    """Print the answer, beside figures that need all agents' data."""
    public, shards = split(agents)
    truth = [correct(shard, public) for shard in shards]
    records = sum(len(shard) for shard in shards)
    accuracy = sum(table.sum(axis=1) for table in truth) / records
    gone = {row.arm: number for number, (_, row) in enumerate(EliminationRow.select(run.log), 1)}
    votes = Counter(row.arm for _, row in VoteRow.select(run.log))
    print(f"\nFound: {run.status}", end="")
    print("" if run.best_arm is None else f", arm {run.best_arm}: {NAMES[run.best_arm]}")
    print(f"  {'':4}{'candidate':<30}{'votes against':>14}{'left as':>9}{'accuracy*':>11}")
    for k, name in enumerate(NAMES):
        left = f"no. {gone[k]}" if k in gone else "stays"
        print(f"  {k:<4}{name:<30}{votes[k]:>14}{left:>9}{accuracy[k]:>11.3f}")
    print(f"  * on all {records:,} private records together, which no participant can compute")


def disclosed(run: posse.RunRecord, agents: int) -> None:
    """Print what was claimed, and what it means for a record."""
    assert run.privacy is not None
    claim = run.privacy.claim
    assert claim.epsilon is not None
    # each arm cycles through the shard, so K arms exceed an even share by one draw each
    shards = split(agents)[1]
    most = max(n // len(shard) for n, shard in zip(run.pulls_per_agent, shards, strict=True))
    most += len(NAMES)
    bound = most * claim.epsilon
    print(f"\nDisclosed: {claim.says}")
    print(
        f"  A reward is one scoring of one record. A record was scored at most {most:,} times, so\n"
        f"  by group privacy the messages are {most:,} x {claim.epsilon:g} = {bound:.1f}-"
        "differentially private per record."
    )
    if bound > 3:
        print(
            f"  e^{bound:.0f} bounds nothing in practice: per record this is no protection beyond "
            "the\n  fact that only votes and no records leave. Use each record once (arms of kind "
            "csv do),\n  or have larger shards, where the guarantee must hold per record."
        )


def main() -> int:
    """Run; print what was found, what it cost and what was disclosed."""
    began = time.perf_counter()
    spec = posse.load(HERE / "run.toml", sys.argv[1:])
    agents = spec.agents.count
    shards = split(agents)[1]
    print(
        f"{agents} processes, each with {min(map(len, shards))} to {max(map(len, shards))} private "
        f"records; {len(NAMES)} candidates trained on {PUBLIC} public ones ({spec.system})",
        flush=True,
    )
    result = posse.run(spec)
    seconds = time.perf_counter() - began
    (run,) = result.runs
    print(result)
    found(run, agents)
    disclosed(run, agents)
    print(f"\n{seconds:.1f} s from command to answer")
    return 0 if run.status == "identified" else 1


if __name__ == "__main__":
    sys.exit(main())
