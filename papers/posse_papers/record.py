"""The recorded outcomes: what the page of verdicts is written from, a line of JSON for each."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from posse.verbs import read_whole
from posse_papers.outcome import Told

_decode = msgspec.json.Decoder(Told).decode


def kept(*forms: Mapping[str, Told]) -> str:
    """JSON Lines: an outcome of each form each, without the points."""
    outcomes = [msgspec.structs.replace(one, numbers={}) for form in forms for one in form.values()]
    return "".join(msgspec.json.encode(one).decode() + "\n" for one in outcomes)


def recorded() -> list[Told]:
    """The outcomes that this version was released with."""
    lines = read_whole(Path(__file__).with_name("recorded.jsonl")).splitlines()
    return [_decode(line) for line in lines]


def changes(before: Path, quick: Mapping[str, Told], full: Mapping[str, Told]) -> list[str]:
    """A sentence for each verdict that differs from that in `before`, which `kept` wrote."""
    try:
        earlier = _verdicts(_decode(line) for line in read_whole(before).splitlines())
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        return [f"verdicts are not compared with {before}, which cannot be read ({error})"]
    now = _verdicts((*quick.values(), *full.values()))
    return [
        f"{name} ({form}) differs from {before.name}: {text}: {answer}, was {earlier[key]}"
        for key, answer in now.items()
        for name, form, text in [key]
        if earlier.get(key, answer) != answer
    ]


def _verdicts(outcomes: Iterable[Told]) -> dict[tuple[str, str, str], str]:
    """The verdict on each statement by experiment, form and text."""
    return {
        (one.name, one.form, said.text): said.verdict for one in outcomes for said in one.statements
    }
