"""The pytest plugin of posse: the fixture `posse_cluster`, and `--posse-system module:SYSTEM`.

    @pytest.mark.asyncio
    async def test_a_vote_is_counted(posse_cluster):
        cluster = await posse_cluster("run.toml")
        result = await cluster.run()
        assert cluster.messages(kind="Vote")

If a test fails, its last frames are shown below the traceback, and pytest's cache keeps them as a
space-time picture. Beside it is what each member of a `HostedCluster` (`hosted=True`) logged; what
a `ControlledCluster`'s agents did, pytest itself shows.
"""

import importlib.util
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posse.gates import files

if TYPE_CHECKING:
    from posse.durable.frames import Frame
    from posse.testing.controlled import Controlled

_SHOWN = 20
_UP: "pytest.StashKey[list[Controlled]]" = pytest.StashKey()

if importlib.util.find_spec("pytest_asyncio") is not None:
    import pytest_asyncio

    @pytest_asyncio.fixture
    async def posse_cluster(
        request: pytest.FixtureRequest,
    ) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
        """A function that starts a `ControlledCluster`, or one that is `hosted`, for the test."""
        from posse.testing.cluster import ControlledCluster  # noqa: PLC0415
        from posse.testing.hosts import HostedCluster  # noqa: PLC0415

        up = request.node.stash.setdefault(_UP, [])
        async with AsyncExitStack() as clusters:

            async def start(*given: Any, hosted: bool = False, **options: Any) -> Any:
                made = (HostedCluster if hosted else ControlledCluster)(*given, **options)
                cluster = await clusters.enter_async_context(made)
                up.append(cluster)
                return cluster

            yield start

else:

    @pytest.fixture
    def posse_cluster() -> None:
        """Fail, and say what is missing."""
        pytest.fail(
            'posse_cluster needs pytest-asyncio: python -m pip install "posse-bandits[testing]"'
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that lets a system be judged."""
    parser.getgroup("posse").addoption(
        "--posse-system",
        metavar="MODULE:SYSTEM",
        action="append",
        default=[],
        help="judge this system, or a run file's: what posse's own must hold, each as a test",
    )


class JudgedItem(pytest.Item):
    """One check of `posse judge` as a test."""

    def __init__(self, *, source: str, check: str, **given: Any) -> None:
        super().__init__(**given)
        self.source, self.check = source, check

    def runtest(self) -> None:
        """Judge, and fail with what was found."""
        from posse.testing.judge import judge  # noqa: PLC0415

        for found in judge(self.source, only=self.check):
            if found.held is None:
                pytest.skip(found.how)
            if not found.held:
                pytest.fail(str(found), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the checks of each system that is to be judged."""
    for source in config.getoption("--posse-system"):
        from posse.testing.judge import CHECKS  # noqa: PLC0415

        sys.path.extend({os.getcwd()} - {*sys.path})
        items += [
            JudgedItem.from_parent(session, name=f"{source}: {check}", source=source, check=check)
            for check in CHECKS
        ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the last frames of a test that failed."""
    report = yield
    if report.when == "call" and report.failed:
        for cluster in item.stash.get(_UP, []):
            frames = cluster.messages(again=True)
            lines = "\n".join(map(str, frames[-_SHOWN:]))
            title = f"posse: the last of {len(frames)} frames of {cluster.spec.system}"
            if (drawn := _picture(item, frames, cluster.spec.system)) is not None:
                lines = f"{lines}\nas a picture: {drawn}"
                if logs := cluster.logs():
                    kept = drawn.with_suffix(".log")
                    files.write(kept, "".join(f"{name}:\n{text}\n" for name, text in logs.items()))
                    lines = f"{lines}\nwhat each member logged: {kept}"
            report.sections.append((title, lines))
    return report


def _picture(item: pytest.Item, frames: "list[Frame]", system: str) -> Path | None:
    """Where pytest keeps the picture of a failed test's frames; None without its cache."""
    from posse.report.picture import of_frames  # noqa: PLC0415

    cache: pytest.Cache | None = getattr(item.config, "cache", None)
    if cache is None or not frames:
        return None
    path = cache.mkdir("posse") / re.sub(r"[^\w.-]+", "-", f"{item.nodeid}-{system}.svg")
    files.write(path, of_frames(f"{item.nodeid}, {system}", frames))
    return path
