"""The TypeScript client and OpenFeature's JavaScript provider at a live agent's door."""

import json
import subprocess

import pytest

from posse.live import address
from posse.live.desk import DeskSettings
from posse.live.service import Service
from tests.clients.test_js import CLIENT, missing

OURS = """
import { LiveAgent, LiveError } from "./dist/live.js";
const agent = new LiveAgent(process.argv[1], process.argv[2]);
const decisions = [];
for (let n = 0; n < 20; n++) decisions.push(await agent.ask());
const idle = await agent.ask();
const told = await agent.tellAll(decisions.map((d) => ({ id: d.id, reward: d.arm })));
const again = await agent.tell(decisions[0], decisions[0].arm);
const twice = await agent.tell(decisions[0], 0.5);
let refused = "";
try {
  await new LiveAgent(process.argv[1], "no").ask();
} catch (e) {
  refused = `${e instanceof LiveError} ${e.status}`;
}
const names = decisions.map((d) => d.name);
console.log(JSON.stringify({ names, idle, told, again, twice, refused }));
"""

THEIRS = """
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";
const headers = { Authorization: `Bearer ${process.argv[2]}` };
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: process.argv[1], headers }));
const client = OpenFeature.getClient();
const shown = [];
for (let n = 0; n < 20; n++) {
  const who = { targetingKey: `visitor ${n}` };
  const details = await client.getStringDetails("button", "grey", who);
  const again = await client.getStringDetails("button", "grey", who);
  shown.push([details, again.flagMetadata.decision === details.flagMetadata.decision]);
  const body = JSON.stringify({ id: details.flagMetadata.decision, reward: 1 });
  const all = { ...headers, "Content-Type": "application/json" };
  await fetch(process.argv[1] + "/v1/rewards", { method: "POST", headers: all, body });
}
const idle = await client.getStringDetails("button", "grey");
const other = await client.getStringDetails("other", "grey");
console.log(JSON.stringify({ shown, idle, other }));
await OpenFeature.close();
"""

TOKEN = "a-token-of-many-letters"

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture
def opened(tmp_path):
    service = Service(DeskSettings(names=("blue", "green"), timeout=60.0, flag="button"))
    service.begin(b"run")
    service.order(object(), (0, 1), (10, 10), explore=False)
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    service.doors.append(address.open_door(service, "http://127.0.0.1:0", file, 0.0))
    yield service
    service.close()


def said(script: str, service: Service):
    command = ["node", "--input-type=module", "-e", script, service.doors[0].address, TOKEN]
    done = subprocess.run(
        command, cwd=CLIENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_our_client_asks_and_tells(opened) -> None:
    answer = said(OURS, opened)
    assert sorted(answer["names"]) == ["blue"] * 10 + ["green"] * 10
    assert answer["told"] == [{"used": True}] * 20
    assert (answer["idle"]["idle"], answer["again"]) == ("waits", {"used": False})
    assert (answer["twice"]["refused"], answer["refused"]) == ("twice", "true 401")
    assert (opened.read(0, 0, 99), opened.read(1, 0, 99)) == ([0.0] * 10, [1.0] * 10)


def test_the_javascript_provider_of_openfeature_asks(opened) -> None:
    answer = said(THEIRS, opened)
    assert all(same for _, same in answer["shown"])
    assert {details["reason"] for details, _ in answer["shown"]} == {"SPLIT"}
    assert sorted(d["value"] for d, _ in answer["shown"]) == ["blue"] * 10 + ["green"] * 10
    assert (answer["idle"]["reason"], answer["other"]["value"]) == ("STATIC", "grey")
    assert answer["other"]["errorCode"] == "FLAG_NOT_FOUND"
    assert opened.status().counts["rewards"] == 20
