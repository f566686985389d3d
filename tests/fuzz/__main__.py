"""Fuzz readers led by coverage: `python -m tests.fuzz SECONDS [READER]…`, which needs atheris.

What a reader raised is written into its folder of the corpus, where the tests read it from.
"""

import hashlib
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from tests.fuzz.readers import CORPUS, READERS


def fuzz(reader: str, seconds: int) -> None:
    """Fuzz one reader in this process, which ends with it."""
    import atheris  # noqa: PLC0415  (for this alone)

    with atheris.instrument_imports(include=["posse", "networkx"]):
        from tests.fuzz import readers, seeds  # noqa: PLC0415
    folder = Path(tempfile.mkdtemp(prefix="posse-fuzz-"))
    begin = folder / "seeds"
    begin.mkdir()
    for number, data in enumerate(seeds.of(reader, folder)):
        (begin / str(number)).write_bytes(data)
    known: set[str] = set()

    def once(data: bytes) -> None:
        try:
            readers.READERS[reader](folder, data)
        except readers.REFUSALS:
            pass
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} in {where.name}, {where.filename}:{where.lineno}"
            if name not in known:
                known.add(name)
                print(f"FOUND {reader}: {name}: {error}", flush=True)
                place = CORPUS / reader
                place.mkdir(exist_ok=True)
                (place / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)

    options = [f"-max_total_time={seconds}", "-verbosity=0", "-print_final_stats=1"]
    options += [
        "-max_len=60000",
        "-rss_limit_mb=3000",
        "-timeout=20",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(begin)], once)
    atheris.Fuzz()


def main(seconds: str, *wanted: str) -> None:
    """Fuzz these readers in turn, or all."""
    if len(wanted) == 1:
        fuzz(wanted[0], int(seconds))
        return
    for reader in wanted or READERS:
        subprocess.run([sys.executable, "-m", "tests.fuzz", seconds, reader], check=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
