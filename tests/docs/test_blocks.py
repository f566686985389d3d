"""Every code block of the documents runs, in the order of its page."""

from collections import Counter

import pytest

from tests.support.blocks import PAGES, ROOT, Page, blocks

SLOW = {
    "README.md",
    "docs/cooperative.md",
    "docs/first-steps.md",
    "docs/index.md",
    "docs/network.md",
    "docs/report.md",
    "docs/testing.md",
    "docs/your-own-algorithm.md",
}
"""Pages whose blocks take more than some seconds together."""

NOT_RUN = {
    "CONTRIBUTING.md": 1,
    "README.md": 2,
    "docs/api-experiments.md": 1,
    "docs/arena.md": 3,
    "docs/audit.md": 1,
    "docs/dask.md": 2,
    "docs/field.md": 4,
    "docs/first-steps.md": 1,
    "docs/keys.md": 1,
    "docs/live.md": 3,
    "docs/performance.md": 1,
    "docs/private.md": 1,
    "docs/report.md": 1,
    "docs/testing.md": 1,
    "docs/watch.md": 1,
    "docs/your-own-algorithm.md": 2,
}
"""How many blocks of a page cannot run in a test; each says why."""

NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in NAMES]
)
def test_every_block_runs(name, tmp_path):
    page = Page(tmp_path)
    for block in blocks(ROOT / name):
        page.run(block)


def test_every_block_says_its_language():
    known = {name[1:] for name in vars(Page) if name.startswith("_") and name[1] != "_"}
    wrong = [str(b) for page in PAGES for b in blocks(page) if b.language not in known]
    assert wrong == []


def test_no_more_blocks_than_these_are_left_out():
    left_out = Counter(b.page for page in PAGES for b in blocks(page) if b.not_run)
    assert left_out == NOT_RUN
