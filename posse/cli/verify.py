"""`posse verify`: who signed what a result says, by the agents' public keys alone."""

from collections.abc import Iterator
from pathlib import Path

from posse.errors import RunFailed
from posse.measure.numbers import named
from posse.report.read import Series, read
from posse.results.record import RunRecord
from posse.results.vouched import KIND, Signed, last_word, signed_by
from posse.security.keys import signers_of
from posse.system import find_system, ours


def verify(directory: Path, /, *, keys: Path) -> int:
    """Check by agents' public keys who signed what a result says.

    The exit code is 0 only if each answer is signed by its agent.

    Args:
        directory: directory of a run of the field, over keys
        keys: key folder whose allowlist has its agents
    """
    series, known = read(directory), signers_of(keys)
    wrong = not series.runs
    for record in series.runs:
        signed = record.signed or Signed("")
        good, bad = _answers(series, record, signed, known)
        proofs = list(_proofs(record, signed, known))
        said = [f"{named(good)} signed the answers that the result has"] if good else bad
        lines = [*said, *(bad if good else []), *proofs] or ["no agent told an answer"]
        print(f"run {record.run}:", *lines, sep="\n  ")
        wrong |= bool(bad) or not good or not all("holds" in line for line in proofs)
    return RunFailed.exit_code if wrong else 0


def _answers(
    series: Series, record: RunRecord, signed: Signed, known: dict[int, bytes]
) -> tuple[list[int], list[str]]:
    """Who signed the answer that the result has, and sentences about the others."""
    spec = series.spec
    untold = find_system(spec.system, []).untold if spec.system in ours() else ()
    told = {name: value for name, value in spec.parameters.items() if name not in untold}
    good, bad = [], []
    for rank, arm in enumerate(record.answers):
        said = last_word(spec.system, spec.variant, spec.agents.count, told, arm)
        signature = signed.answers.get(rank)
        if signature is None and arm is not None:
            bad.append(f"agent {rank}: its answer {arm} is not signed")
        elif signature is not None and signed_by(known, _name(signed), rank, KIND, said, signature):
            good.append(rank)
        elif signature is not None:
            why = "is of another answer or run" if rank in known else "cannot be checked: no key"
            bad.append(f"agent {rank}: what the result has as its signature {why}")
    return good, bad


def _proofs(record: RunRecord, signed: Signed, known: dict[int, bytes]) -> Iterator[str]:
    """What each proof of the result is worth."""
    for rank, proof in record.proofs.items():
        texts = [bytes.fromhex(proof.place + said[:64]) for said in proof.statements]
        holds = texts[0] != texts[1] and all(
            signed_by(known, _name(signed), rank, proof.kind.encode(), text, said[64:])
            for text, said in zip(texts, proof.statements, strict=True)
        )
        verb = "holds" if holds else "is none"
        yield f"the proof {verb} that agent {rank} signed two values for one place"


def _name(signed: Signed) -> bytes:
    return bytes.fromhex(signed.run)
