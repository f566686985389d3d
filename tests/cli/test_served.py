"""The page while runs go on: for whom, under which name, and that its last state is the report."""

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from posse.cli.served import ServedPage, draw
from posse.durable.directory import FAILURE
from posse.hosts.status import LIVE
from posse.operate.live import LiveState
from tests.operate.test_live import STATE
from tests.report.test_report import make
from tests.support.patience import PATIENCE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished series."""
    return make(tmp_path_factory.mktemp("served") / "run")


@pytest.fixture
def page(folder: Path) -> Iterator[ServedPage]:
    with ServedPage(folder, "--watch", ":0", farewell=0.0) as served:
        yield served


def get(page: ServedPage, query: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(page.url).netloc, timeout=PATIENCE)
    connection.request("GET", f"/{query}", headers=headers)
    return connection.getresponse()


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=guessed", "?token=%ff%fe", "?other=1", "?token=%C3%A9"]
)
def test_without_its_token_nothing_is_told(page: ServedPage, query: str) -> None:
    refused = get(page, query)
    assert refused.status == 403
    assert refused.read() == b"the whole address is needed, with its token\n"


@pytest.mark.slow
def test_whoever_has_its_address_reads_the_report(page: ServedPage, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while (answered := get(page, f"?{urlsplit(page.url).query}")).status == 503:
        assert b"being drawn" in answered.read()
        assert time.monotonic() < until
    assert answered.status == 200
    assert answered.read().decode() == draw(folder)
    assert answered.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert answered.headers["Referrer-Policy"] == "no-referrer"
    assert answered.headers["Cache-Control"] == "no-store"


def test_two_pages_have_two_tokens(page: ServedPage, folder: Path) -> None:
    with ServedPage(folder, "--watch", ":0") as other:
        tokens = [urlsplit(url).query.removeprefix("token=") for url in (page.url, other.url)]
    assert tokens[0] != tokens[1]
    assert min(map(len, tokens)) == 32


def test_a_finished_page_does_not_ask_again_and_lets_its_own_script_run_alone(folder: Path) -> None:
    html = draw(folder)
    assert "<body>" in html
    assert "connect-src" not in html
    assert "script-src 'sha256-" in html
    assert ".svg" not in html.partition("<script>")[0]  # its figures have no files


def test_a_page_under_way_says_what_goes_on_and_asks_again(folder: Path, tmp_path: Path) -> None:
    running = tmp_path / "run"
    running.mkdir()
    (running / "spec.toml").write_text((folder / "spec.toml").read_text())
    act = "<img src=x onerror=alert(1)>"
    status = msgspec.structs.replace(STATE.status, refused={act: 2})
    (running / LIVE).write_bytes(msgspec.json.encode(msgspec.structs.replace(STATE, status=status)))
    html = draw(running)
    assert "<body data-live>" in html
    assert "connect-src 'self'" in html
    assert "<h1>Run 2 of 3 is under way</h1>" in html
    assert "<dt>Progress</dt><dd>1 of 2 arms left · 5 votes</dd>" in html
    assert "<p>Agent 6 is gone: silent\\x07.</p>" in html
    assert "&lt;img src=x" in html
    assert act not in html


def test_the_pages_server_gives_the_state_to_whoever_has_the_token(
    page: ServedPage, folder: Path
) -> None:
    asked = f"{LIVE}?{urlsplit(page.url).query}"
    assert get(page, asked).status == 404
    (folder / LIVE).write_bytes(msgspec.json.encode(STATE))
    try:
        assert msgspec.json.decode(get(page, asked).read(), type=LiveState) == STATE
        assert get(page, LIVE).status == 403
    finally:
        (folder / LIVE).unlink()


def test_with_a_result_or_without_a_state_nothing_goes_on(folder: Path, tmp_path: Path) -> None:
    ended = tmp_path / "run"
    ended.mkdir()
    (ended / "spec.toml").write_text((folder / "spec.toml").read_text())
    (ended / FAILURE).write_text(json.dumps({"error": "interrupted"}))
    assert "Failed: interrupted" in draw(ended)
    assert "<body>" in draw(ended)


def test_what_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text("system = <b>")
    assert "&lt;b&gt;" in draw(tmp_path) or "is not what posse run wrote" in draw(tmp_path)
    assert "<b>" not in draw(tmp_path)
