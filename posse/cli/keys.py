"""`posse keys`: key pairs, and which keys are trusted."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from posse.cli.options import FolderOfFolders, number, parsed
from posse.errors import InputError
from posse.protocol.bounds import MOST_AGENTS
from posse.security import keys as files
from posse.security.keys import COORDINATOR

_Rank = Annotated[int | None, parsed(lambda text: number(text, most=MOST_AGENTS - 1), "RANK")]
_Agents = Annotated[int | None, parsed(lambda text: number(text, 1, MOST_AGENTS), "N")]


def keys(
    folder: FolderOfFolders,
    /,
    *,
    rank: _Rank = None,
    coordinator: bool = False,
    agents: _Agents = None,
    allow: Annotated[tuple[str, str] | None, Parameter(metavar="WHO PUBLIC")] = None,
    revoke: _Rank = None,
) -> None:
    """Make key pairs for a coordinator and its agents, and say whose keys are trusted.

    One of the options is needed.

    Args:
        folder: folder of keys; those that it has are kept
        rank: make the key pair of this agent, which runs here
        coordinator: make the key pair of the coordinator, which runs here
        agents: make the key pairs of a coordinator and N agents, each in its own folder
        allow: trust the public key that posse keys printed on its owner's machine; WHO is a rank,
            or coordinator
        revoke: refuse the agent of this rank from now on
    """
    asked = [rank is not None, coordinator, bool(agents), allow is not None, revoke is not None]
    if sum(asked) != 1:
        raise InputError(
            "posse keys needs one of --rank, --coordinator, --agents, --allow and --revoke"
        )
    if agents:
        made = files.create(folder, agents)
        print(
            f"{made} key pairs made in {folder}, in a folder for each party.\n"
            "Give each machine its own folder (coordinator, agent-0, agent-1, …) and no other."
        )
    elif allow is not None:
        _allow(folder, *allow)
    elif revoke is not None:
        files.revoke(folder, revoke)
        print(
            f"{folder}: agent {revoke} is refused, by a running coordinator within seconds, by "
            "agents from their next start on"
        )
    else:
        _make(folder, COORDINATOR if coordinator else str(rank))


def _allow(folder: Path, who: str, public: str) -> None:
    if who != COORDINATOR:
        if not who.isdecimal() or int(who) >= MOST_AGENTS:
            must = f"an agent's rank below {MOST_AGENTS}, or {COORDINATOR}"
            raise InputError(f"--allow {who}: must be {must}")
        who = str(int(who))
    files.allow(folder, who, files.Public.parse(public))
    named = "the coordinator" if who == COORDINATOR else f"agent {who}"
    print(
        f"{folder}: {named} is trusted by this key, by a running coordinator at once, by agents "
        "from their next start on"
    )


def _make(folder: Path, owner: str) -> None:
    party = owner if owner == COORDINATOR else f"agent-{owner}"
    made = files.make(folder, party)
    public = files.own(folder, party)
    files.allow(folder, owner, public)
    print(
        f"{party}.key_secret {'was made' if made else 'exists already'} in {folder}; "
        f"keep it there.\nOn every other machine, run: posse keys DIR --allow {owner} {public}"
    )
