"""`posse verify`: who signed what a result says, by public keys alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from posse.errors import RunFailed
from posse.measure.numbers import counted, named
from posse.protocol.machine import COORDINATOR, Variant
from posse.reading.folder import Series, read
from posse.reading.orders import NAME, chains_in, compared, faults, of_run
from posse.results.record import RunRecord
from posse.results.vouched import KIND, Signed, last_word, signed_by
from posse.security.keys import signers_of
from posse.system import find_system, ours


def verify(
    directory: Path,
    /,
    *,
    keys: Path,
    kept: Annotated[tuple[Path, ...], Parameter(metavar="FILE")] = (),
) -> int:
    """Check by public keys who signed what a result says, and what its coordinator ordered.

    The exit code is 0 only if each answer is signed by its agent, and each order by the
    coordinator, after the one before, and what agents kept is the same.

    Args:
        directory: directory of a run of the field, over keys
        keys: key folder whose allowlist has its agents, with coordinator.key
        kept: agents' own files of the coordinator's orders (….orders)
    """
    series, known = read(directory), signers_of(keys)
    wrong = not series.runs
    for record in series.runs:
        signed = record.signed or Signed("")
        good, bad = _answers(series, record, signed, known)
        proofs = list(_proofs(record, signed, known))
        orders = list(_orders(series, record, signed, known, kept))
        said = [f"{named(good)} signed the answers that the result has"] if good else bad
        lines = [*said, *(bad if good else []), *proofs] or ["no agent told an answer"]
        lines += [text for _, text in orders]
        print(f"run {record.run}:", *lines, sep="\n  ")
        wrong |= bool(bad) or not good or not all("holds" in line for line in proofs)
        wrong |= not all(holds for holds, _ in orders)
    return RunFailed.exit_code if wrong else 0


def _answers(
    series: Series, record: RunRecord, signed: Signed, known: dict[int, bytes]
) -> tuple[list[int], list[str]]:
    """Who signed the answer that the result has, and sentences about the others."""
    good, bad = [], []
    for rank, arm in enumerate(record.answers):
        said = last_word(*_asked(series), arm)
        signature = signed.answers.get(rank)
        if signature is None and arm is not None:
            bad.append(f"agent {rank}: its answer {arm} is not signed")
        elif signature is not None and signed_by(known, _name(signed), rank, KIND, said, signature):
            good.append(rank)
        elif signature is not None:
            why = "is of another answer or run" if rank in known else "cannot be checked: no key"
            bad.append(f"agent {rank}: what the result has as its signature {why}")
    return good, bad


def _asked(series: Series) -> tuple[str, Variant, int, dict[str, Any]]:
    """System, variant, agents and parameters, as agents are told them."""
    spec = series.spec
    untold = find_system(spec.system, []).untold if spec.system in ours() else ()
    shared = {name: value for name, value in spec.parameters.items() if name not in untold}
    return spec.system, spec.variant, spec.agents.count, shared


def _orders(
    series: Series,
    record: RunRecord,
    signed: Signed,
    known: dict[int, bytes],
    kept: tuple[Path, ...],
) -> Iterator[tuple[bool, str]]:
    """What the coordinator signed in the field, and whether agents kept the same."""
    if series.spec.mode != "field":
        return
    path = series.path / NAME
    if COORDINATOR not in known:
        yield False, "orders cannot be checked: the key folder has no coordinator.key"
    elif not path.exists():
        yield False, f"there is no {NAME}, so nobody can check what the coordinator ordered"
    else:
        chains = of_run(chains_in(path, known), signed.run)
        bad = list(faults(chains, record, _asked(series)))
        yield from ((False, fault) for fault in bad)
        if not bad:
            orders = sum(len(chain.orders) for chain in chains.values())
            yield True, f"the coordinator signed {counted(orders, 'order')}, each after the last"
        for file in kept:
            own = of_run(chains_in(file, known), signed.run)
            yield from compared(chains, own) if own else [(False, f"{file} lacks this run")]


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
