"""Fuzz readers led by coverage: `python -m tests.fuzz SECONDS [READER]…`, which needs atheris.

What a reader raised is written into its folder of the corpus, where the tests read it from.
"""

import hashlib
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path


def fuzz(reader: str, seconds: int, folder: Path) -> None:
    """Fuzz one reader in this process, which ends with it."""
    import atheris  # noqa: PLC0415  (for this alone)

    with atheris.instrument_imports(include=["posse"]):
        from tests.fuzz import readers, seeds  # noqa: PLC0415
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
                place = readers.CORPUS / reader
                place.mkdir(exist_ok=True)
                (place / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)

    options = [f"-max_total_time={seconds}", "-verbosity=0", "-print_final_stats=1"]
    options += ["-max_len=60000", "-rss_limit_mb=3000", "-timeout=60"]
    options += [f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *options, str(begin)], once)
    atheris.Fuzz()


def main(seconds: str, *wanted: str) -> None:
    """Fuzz these readers in turn, or all."""
    from tests.fuzz.readers import READERS  # noqa: PLC0415  (not where they are to be led)

    for reader in wanted or READERS:
        with tempfile.TemporaryDirectory(prefix="posse-fuzz-") as folder:
            command = [sys.executable, "-m", "tests.fuzz", seconds, reader, folder, "--one"]
            subprocess.run(command, check=False)


if __name__ == "__main__":
    if sys.argv[-1] == "--one":
        fuzz(sys.argv[2], int(sys.argv[1]), Path(sys.argv[3]))
    else:
        main(*sys.argv[1:])
