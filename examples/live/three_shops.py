"""Three shops find the best of three buttons: python three_shops.py [shops.toml or dp-mase.toml].

It makes keys, starts a coordinator, three agents and their visitors, and ends with the answer. Each
agent's page shows what it decides meanwhile: http://127.0.0.1:8016, 8017 and 8018.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from visitors import Shop

from posse.live import Agent

HERE = Path(__file__).parent
TRAFFIC = (300.0, 200.0, 120.0)
"""Visitors a second of each shop."""


def free() -> int:
    """A free port."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
    return port


def posse(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-P", "-m", "posse", *arguments], text=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", default="shops.toml")
    parser.add_argument("--port", type=int, default=8016, help="the first shop's; 0: any")
    parser.add_argument("--keep", type=float, default=0.0, help="seconds to serve the answer")
    options = parser.parse_args(arguments)
    file = (HERE / options.file).resolve()
    ports = [options.port + n if options.port else free() for n in range(len(TRAFFIC))]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        keys, run = Path(folder, "keys"), Path(folder, file.name)
        run.write_text(file.read_text())
        posse("keys", str(keys), "--agents", str(len(TRAFFIC)), "--quiet").wait()
        endpoint = f"tcp://127.0.0.1:{free()}"
        stop, shops = threading.Event(), []
        processes = []
        for rank, port in enumerate(ports):
            live = f"http://127.0.0.1:{port}"
            own = ["--run", str(run), "--rank", str(rank), "--keys", str(keys / f"agent-{rank}")]
            processes.append(posse("agent", "--join", endpoint, *own, "--live", live, "--quiet"))
            agent = stack.enter_context(Agent(f"http://127.0.0.1:{port}"))
            shop = Shop(agent, rank, TRAFFIC[rank])
            thread = threading.Thread(target=shop.serve, args=(stop,))
            thread.start()
            shops.append((agent, shop, thread))
        out = ["--out", str(Path(folder, "out"))]
        party = ["--keys", str(keys / "coordinator")]
        code = posse("coordinator", str(run), "--bind", endpoint, *party, *out).wait()
        time.sleep(options.keep)
        stop.set()
        for rank, (agent, shop, thread) in enumerate(shops):
            thread.join()
            status = agent.status()
            answer = status["answer_name"] or "nothing yet"
            print(f"shop {rank}: {dict(shop.shown)}; it goes on with {answer}")
        for process in processes:
            process.terminate()
            process.wait()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
