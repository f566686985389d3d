"""Agents, coordinator and application killed in turn: each told reward is used once."""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import tomli_w

from posse import run
from posse.durable.lifetime import read as read_ledger
from posse.live import Agent, LiveError, RewardRefused
from posse.live.store import DecisionStore
from tests.support.patience import PATIENCE
from tests.support.remote import free_port

HORIZON, KILLS, AGENTS = 5_000, 20, 2

APPLICATION = """
import hashlib, json, sys, time
from pathlib import Path
from posse.live import Agent, LiveError, RewardRefused
where, log = sys.argv[1], Path(sys.argv[2])
means = (0.2, 0.8, 0.4)
def reward(d):  # the same for whoever tells it again
    return float(hashlib.sha256(d.encode()).digest()[0] / 256 < means[int(d.split(":")[1])])
text = log.read_text() if log.exists() else ""
lines = [line.split() for line in text.splitlines() if line[-2:-1] == ":"]  # whole
told = {what for word, what in lines if word != "asked"}
waiting = [what for word, what in lines if word == "asked" and what not in told]
agent = Agent(where)
with log.open("a") as out:
    def say(word, what):
        out.write(f"{word} {what}\\n"); out.flush()
    out.write("\\n")
    while True:
        try:
            if len(waiting) < 8:
                d = agent.ask()
                if d.idle:
                    time.sleep(0.002)
                else:
                    waiting.append(f"{d.id}:{d.arm}")
                    say("asked", waiting[-1])
                    continue
            if waiting:
                one = waiting.pop(0)
                try:
                    agent.tell(one.split(":")[0], reward(one))
                    say("told", one)
                except RewardRefused as refused:
                    say("refused", one)
                    assert refused.kind == "late", refused
        except LiveError:
            time.sleep(0.02)
"""


def posse(*arguments: str, out=subprocess.DEVNULL, cwd=None) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "posse", *arguments]
    return subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=cwd)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_kills_lose_no_reward_and_use_none_twice(tmp_path: Path) -> None:
    raw = {
        "system": "cdp-mab",
        "seed": 7,
        "agents": {"count": AGENTS},
        "arms": {
            "kind": "live",
            "names": ["a", "b", "c"],
            "listen": "unix:shop-{rank}.sock",
            "timeout": 1.0,
        },
        "parameters": {"horizon": HORIZON, "epsilon": 1.0},
        "engine": {"durable": True, "absence": 60.0, "deadline": 60.0},
    }
    file = tmp_path / "run.toml"
    file.write_text(tomli_w.dumps(raw))
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    draw = random.Random(62)

    def coordinator(resume: bool) -> subprocess.Popen[str]:
        more = ["--resume", str(tmp_path / "out")] if resume else ["--out", str(tmp_path / "out")]
        return posse(
            "coordinator", str(file), "--bind", endpoint, "--json", *more, out=subprocess.PIPE
        )

    def agent(rank: int) -> subprocess.Popen[str]:
        whose = ["--join", endpoint, "--run", str(file), "--rank", str(rank)]
        return posse("agent", *whose, "--lab", "--wait", "60")

    def application(rank: int) -> subprocess.Popen[str]:
        shop = [f"unix:{tmp_path}/shop-{rank}.sock", str(tmp_path / f"{rank}.log")]
        return subprocess.Popen([sys.executable, "-c", APPLICATION, *shop], text=True)

    with ExitStack() as stack:
        running: dict[str, subprocess.Popen[str]] = {"coordinator": coordinator(False)}

        def stop() -> None:
            for process in running.values():
                process.kill()
                process.communicate()

        stack.callback(stop)
        for rank in range(AGENTS):
            running[f"agent {rank}"] = agent(rank)
            running[f"application {rank}"] = application(rank)
        kills = 0
        deadline = time.monotonic() + 4 * PATIENCE
        while running["coordinator"].poll() is None:
            assert time.monotonic() < deadline, "the run did not end"
            time.sleep(draw.uniform(0.2, 0.6))
            begun = all((tmp_path / f"{rank}.log").exists() for rank in range(AGENTS))
            begun = begun and all(
                "told" in (tmp_path / f"{rank}.log").read_text() for rank in range(AGENTS)
            )
            if kills < KILLS and begun and running["coordinator"].poll() is None:
                name = draw.choice(sorted(running))
                running[name].kill()
                running[name].communicate()
                kind, _, whose = name.partition(" ")
                again = {"agent": agent, "application": application}
                running[name] = coordinator(True) if not whose else again[kind](int(whose))
                kills += 1
        output, errors = running["coordinator"].communicate()
        assert running["coordinator"].returncode == 0, errors
        live = json.loads(output)["runs"][0]
    assert kills == KILLS
    for rank in range(AGENTS):
        store = DecisionStore(tmp_path / f"live-{rank}.decisions")
        rows = store.rewards_of(1)
        kept = {
            f"{n:x}-{key:012x}": (state, arm, reward)
            for n, key, state, arm, reward in store._db.execute(
                "SELECT id, key, state, arm, reward FROM decisions"
            )
        }
        store.close()
        log = (tmp_path / f"{rank}.log").read_text()
        lines = [line.split() for line in log.splitlines() if line[-2:-1] == ":"]
        told = [what for word, what in lines if word == "told"]
        for one in told:  # none that was confirmed is lost
            id_, arm = one.split(":")
            assert kept[id_][:2] == (1, int(arm))
        assert len(rows) == HORIZON == sum(state == 1 for state, _, _ in kept.values())
        csv = "\n".join(["arm,reward", *(f"{arm},{reward}" for arm, reward in rows)])
        (tmp_path / f"{rank}.csv").write_text(csv)
    arms = {"kind": "csv", "path": "{rank}.csv", "count": 3}
    plain = run({**raw, "arms": arms, "engine": {"kind": "memory"}, "base": str(tmp_path)}).runs[0]
    assert live["answers"] == plain.answers
    assert live["pulls_per_arm"] == plain.pulls_per_arm
    assert live["rewards"] == pytest.approx(plain.rewards, abs=1e-9)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_person_gives_more_than_is_allowed_in_the_field_though_agents_are_killed(
    tmp_path: Path,
) -> None:
    """The ledger has a row a reward, and the names of persons are in no file."""
    horizon, most = 400, 2
    raw = {
        "system": "cdp-mab",
        "mode": "field",
        "agents": {"count": AGENTS},
        "arms": {"kind": "live", "names": ["a", "b", "c"], "listen": "unix:shop-{rank}.sock"},
        "parameters": {"horizon": horizon, "epsilon": 1.0},
        "privacy": {"person": "visitor", "rewards_per_person": most},
        "engine": {"absence": 60.0, "deadline": 60.0},
    }
    (tmp_path / "run.toml").write_text(tomli_w.dumps(raw))
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    ends = threading.Event()

    def visits(rank: int) -> None:
        draw = random.Random(rank)
        with Agent(f"unix:{tmp_path}/shop-{rank}.sock") as agent:
            while not ends.is_set():
                with suppress(LiveError, RewardRefused):
                    decision = agent.ask(f"visitor-{draw.randrange(400)}")
                    seen[rank][decision.idle] += 1
                    agent.tell(decision, float(draw.random() < (0.2, 0.8, 0.4)[decision.arm]))
                    if decision.idle:
                        time.sleep(0.001)

    def agent(rank: int) -> subprocess.Popen[str]:
        whose = ["--run", "run.toml", "--rank", str(rank), "--keys", f"keys/agent-{rank}"]
        return posse("agent", "--join", endpoint, *whose, "--wait", "60", cwd=tmp_path)

    seen = [Counter[str]() for _ in range(AGENTS)]
    made = posse("keys", "keys", "--agents", str(AGENTS), cwd=tmp_path)
    assert "" in made.communicate(timeout=PATIENCE)
    assert made.returncode == 0
    whose = ["--keys", "keys/coordinator", "--out", "out"]
    with ExitStack() as stack:
        running = [posse("coordinator", "run.toml", "--bind", endpoint, *whose, cwd=tmp_path)]
        running += [agent(rank) for rank in range(AGENTS)]

        def stop() -> None:
            ends.set()
            for process in running:
                process.kill()
                process.communicate()

        stack.callback(stop)
        shops = [threading.Thread(target=visits, args=(rank,)) for rank in range(AGENTS)]
        for shop in shops:
            shop.start()
            stack.callback(shop.join)
        stack.callback(ends.set)
        for _ in range(2):
            before, until = seen[0][""], time.monotonic() + PATIENCE
            while seen[0][""] < before + 60:
                assert time.monotonic() < until
                time.sleep(0.005)
            running[1].kill()
            running[1].communicate()
            running[1] = agent(0)
        assert running[0].wait(PATIENCE) == 0, running[0].stderr.read()
    for rank in range(AGENTS):
        (entry,) = read_ledger(tmp_path / f"live-{rank}.decisions.ledger").runs
        assert entry.rewards == horizon
        assert seen[rank]["person"]
        store = DecisionStore(tmp_path / f"live-{rank}.decisions")
        whose_rows = store._db.execute("SELECT person FROM decisions").fetchall()
        used = store.rewards_of(1)
        store.close()
        assert len(used) == horizon
        assert max(Counter(whose_rows).values()) <= most
    for file in tmp_path.glob("live-*"):
        assert b"visitor-" not in file.read_bytes()
