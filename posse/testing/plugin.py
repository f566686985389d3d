"""The pytest plugin of posse: the fixture `posse_cluster`.

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
import re
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
    from posse.testing.picture import of_frames  # noqa: PLC0415

    cache: pytest.Cache | None = getattr(item.config, "cache", None)
    if cache is None or not frames:
        return None
    path = cache.mkdir("posse") / re.sub(r"[^\w.-]+", "-", f"{item.nodeid}-{system}.svg")
    files.write(path, of_frames(f"{item.nodeid}, {system}", frames))
    return path
