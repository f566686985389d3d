"""posse paper."""

import subprocess
import sys

from tests.support.patience import PATIENCE


def without(*modules: str) -> str:
    """Code that makes these modules impossible to import."""
    return (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {modules}: raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from posse.cli.main import main\n"
    )


def test_the_papers_experiments_are_listed_without_what_draws_them() -> None:
    code = without("matplotlib", "jinja2") + "sys.exit(main(['paper']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert "rio-1 " in done.stdout
