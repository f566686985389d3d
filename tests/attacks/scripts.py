"""Of each attack script: what it prints when posse withstands it, and what has new names today."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Script:
    """How a script is run and judged.

    Every pattern of `holds` must be in what it prints, and none of `falls`. `edits` are pairs of a
    text in the script and what it reads today. `instead` names the tests of a script whose premise
    is gone, and `why` says so.
    """

    holds: tuple[str, ...] = ()
    falls: tuple[str, ...] = ()
    edits: tuple[tuple[str, str], ...] = ()
    calls: tuple[str, ...] = ("",)
    seconds: float = 200.0
    environment: Mapping[str, str] = field(default_factory=dict)
    inside: str = ""
    """A command that makes the folder `mine`, in which the script runs."""
    why: str = ""
    instead: str = ""

    def today(self, text: str, name: str) -> str:
        """The script with today's names."""
        for old, new in self.edits:
            if old not in text:
                raise ValueError(f"{name} has changed: {old!r} is not in it")
            text = text.replace(old, new)
        return text

    def problem(self, said: str) -> str:
        """What is wrong with what it printed; empty if posse withstood it."""
        for pattern in self.falls:
            if match := re.search(pattern, said):
                return f": {match[0][:100]}"
        lacking = [pattern for pattern in self.holds if not re.search(pattern, said)]
        last = (said.strip().splitlines() or ["nothing"])[-1]
        return f": it does not say {lacking[0]!r} but {last[:150]}" if lacking else ""


def _named(*texts: str) -> tuple[str, ...]:
    return tuple(map(re.escape, texts))


_NO_TRACE = (r"Traceback", r"TRACEBACK")

SCRIPTS: dict[str, Script] = {
    # what the others import
    "net": Script(
        edits=(
            ("control.Ready()", 'control.Ready(self.setup.get("first", 0))'),
            (
                "        self.frame = f\n",
                '        self.frame = f = f[116:] if f[:4] == b"ps\\x01\\x00" else f\n',
            ),
        ),
    ),
    # --- the first round: a peer, a neighbour, a coordinator, files -----------------------------
    "a01_fuzz_coordinator": Script(
        holds=(r"\d{4,} hostile frames", r"exceptions that are no refusal:\s*$"),
    ),
    "a02_closing_report": Script(
        # "stuck": refused, and without a clock nobody ends the wait for another
        holds=(r"TAKEN:\n",),
        falls=(r"systems: .*Error", "wrote outside"),
    ),
    "a03_one_agent_ends_the_run": Script(
        edits=(("control.Resources(", "control.ResourceUse("),),
        holds=(
            "Failed in run .*exit 0 traceback False",
            "Failed in the lobby .*exit 3 traceback False",
            "Attested against itself .*traceback False left .*result",
            "joins again in the run .*exit 0 traceback False",
            "closing report malformed .*traceback False",
            "Failed with escapes .*traceback False",
        ),
        falls=("traceback True",),
        seconds=600,
    ),
    "a04_log_injection": Script(
        edits=(
            ("site.wait(15)", "site.wait(90)"),
            (
                'fail = (site.folder / "out/failure.json").read_text()',
                'fail = "".join(x.read_text() for x in (site.folder / "out").glob("*.json"))',
            ),
        ),
        holds=(
            "a: raw ESC in the log: False; forged line on a line of its own: False",
            "b: raw ESC in stderr: False, forged line: False; failure.json raw ESC: False",
        ),
    ),
    "a05_stall": Script(
        # before a run it is `engine.joining` that ends the wait
        edits=(("junk, seconds=16)", "junk, seconds=90)"),),
        holds=(r"stalls: \[\]",),
        seconds=600,
    ),
    "a05b": Script(
        edits=(("junk, seconds=45)", "junk, seconds=90)"),),
        holds=(r"stalls: \[\]",),
    ),
    "a06_memory_coordinator": Script(
        holds=(r"grows: \[\]", "the same Vote .*refused", "Complaint about new names .*refused"),
        seconds=600,
    ),
    "a07_endless_multipart": Script(
        holds=("no keys: a stranger", "keys: an allowlisted", r"grows: \[\]"),
        seconds=400,
    ),
    "a08_neighbour_floods_early": Script(
        holds=(r"300,000 frames of 0 bytes .*: \+\d{1,2} MiB", "kept after the next Begin: 0"),
        falls=(r"\+\d{3,} MiB",),
    ),
    "a09_inbox_poison": Script(
        # any port of its own host may be an agent's inbox, so the two neighbours knock there, ever
        # less often (`docs/security.md`); each knocked 16 times when the script was written
        holds=(
            r"harm: \[('a third machine \(127[^']*\(third machine\)')?\]",
            r"machine \(127\S* plain TCP\).*\n.*\n.*machine got (\d|1[0-4]) connections",
            "ipc of another program",
        ),
        seconds=400,
    ),
    "a10_gate_by_inproc": Script(
        holds=(r"gates that died: \[\]",),
    ),
    "a11_malicious_coordinator": Script(
        # it signs its orders by now, and names the agent's own random number: both are the least
        # that an agent asks before it listens at all
        edits=(
            (
                "Authenticator as Gate, Verdict, serve_with",
                "Authenticator as Zap, ZapStatus as Verdict, serve_with",
            ),
            (
                "bad = []\nclass Evil:",
                "from posse.protocol.orders import chain_of, is_order, place_of, sealed\n"
                "from posse.protocol.signing import Signer, nonce_of\n"
                "bad = []\n"
                "def Gate(context, decide, refused):\n"
                "    Zap(context.socket(zmq.ROUTER), decide, refused).start()\n"
                "class Evil:",
            ),
            (
                "self.s = self.ctx.socket(zmq.ROUTER);",
                "self.pair, self.said = pair, b''; self.s = self.ctx.socket(zmq.ROUTER);",
            ),
            (
                "self.sent += 1; f = ENVL",
                "self.sent += 1\n"
                "            if is_order(f): _, f, self.said = sealed("
                "Signer(self.pair.signing, {}, b''), "
                "self.said or chain_of(bytes(16), self.join[5]), place_of(0, self.sent), f)\n"
                "            f = ENVL",
            ),
            (
                "def configure(self, setup): self.say(",
                "def configure(self, setup):\n"
                "        setup = msgspec.structs.replace(setup, "
                "nonces=(nonce_of(self.join[5]), bytes(16)))\n        self.say(",
            ),
        ),
        holds=(
            r"averaging by Begin alone: 1 releases",
            r"averaging by Configure\+Begin: 1 releases",
            r"--run, epsilon 50 instead of 0.5: answer .'Failed'",
            r"--run, mode lab: answer .'Failed'",
            r"no --run, python arms: answer .'Failed'",
            r"harm: \[\]",
        ),
        seconds=600,
    ),
    "a12_half_open": Script(
        holds=("honest agents came then: exit 0", r"harm: \[\]"),
    ),
    "a13_storm": Script(
        holds=("then a run: exit 0", r"harm: \[\]"),
    ),
    "a14_result_lost": Script(
        edits=(("site.wait(60)", "site.wait(200)"),),
        seconds=400,
        holds=(r"exit 0 \[.*'result.json'",),
    ),
    "a14b": Script(
        edits=(("site.wait(80)", "site.wait(200)"),),
        calls=("1100",),
        seconds=400,
        holds=(r"exit 0 \[.*'result.json'",),
    ),
    "a15_flood": Script(
        # docs/security.md has the bound, 400 MiB
        holds=(r"(?s)(RSS \d+ -> peak [1-4]?\d\d MiB; honest agents all in after \d.*){4}",),
        falls=("all in after None",),
        seconds=400,
    ),
    "a16_masks": Script(
        why="its agents are made by hand, and what it reads it says that the documents admit",
        instead="tests/field/test_one_release.py::"
        "test_runs_of_anonymous_over_one_log_give_no_system_of_equations",
    ),
    "a16b": Script(
        edits=(
            (
                "from coordinator import groups as G",
                "from posse_systems.esfandiari2022 import groups as G; G.Group = G.UserGroup",
            ),
            (
                "def add_up(self, number):\n            orig(self, number); "
                "known.append((number, self.arm",
                "def add_up(self):\n            before = self.sums; orig(self)\n"
                "            if before is None and self.sums is not None: "
                "known.append((self.number, self.arm",
            ),
        ),
        holds=("reads single rewards with:",),
        falls=("reads single rewards with: .*never",),
        seconds=400,
    ),
    "a17_mode_bypass": Script(
        edits=(('CsvArms(path="rewards-0.csv"', 'CsvArms(path="rewards-{rank}.csv"'),),
        calls=("x slots", "x slots data", "lab slots data", "lab wall run"),
        holds=(r"(?s)(mode .*?answer .'Failed'.*?){4}",),
        falls=("seeded noise taken off", "IndexError"),
    ),
    "a17x": Script(
        edits=(('CsvArms(path="rewards-0.csv"', 'CsvArms(path="rewards-{rank}.csv"'),),
        calls=("x slots", "x slots data", "lab slots data", "lab wall run"),
        holds=(r"(?s)(mode .*?answer .'Failed'.*?){4}",),
        falls=("seeded noise taken off", "IndexError"),
    ),
    "a18_relay": Script(
        why="its frames are of runs in which nobody signs",
        instead="tests/runs/test_signatures.py::"
        "test_forged_messages_are_refused_and_the_others_are_not",
    ),
    "a19_noise": Script(
        edits=(("from protocol.privacy import spent", "spent = lambda releases: 0.0"),),
        holds=(r"wrong: \[\]", r"(?s)(done: \d+ noisy calls.*?seeded draws 0.*?){11}"),
        seconds=600,
    ),
    "a20_files": Script(
        # in a folder that all can write nothing is made any more
        edits=(("base.chmod(0o777)", "base.chmod(0o700)"),),
        holds=(r"weak: \[\]", "victim now: precious", "0640: .*is readable by others"),
        seconds=300,
    ),
    "a21_report": Script(
        holds=("every string of result.json .*page.html: exit 0.*script ran: False", r"harm: \[\]"),
        seconds=900,
    ),
    "a22_bombs": Script(
        holds=(r"bad: \[\]", "set through a dunder"),
        seconds=600,
    ),
    "a23_subscriptions": Script(
        why="its victim is made by hand, from parts that take seven arguments today",
        instead="tests/wire/test_inbox_door.py::test_where_nothing_has_to_come_back_little_may",
    ),
    "a24_many_connections_one_key": Script(
        edits=(("time.sleep(5); here", "time.sleep(90); here"),),
        holds=("an honest agent could join: True",),
    ),
    "a24b": Script(
        edits=(("T < 40 and", "T < 120 and"),),
        seconds=400,
        holds=("an honest agent could join: True",),
    ),
    "a25_inbox_strangers": Script(
        holds=(r"1000 strangers' keys .*-> [1-4]?\d %.*log lines \d{1,2}\n",),
    ),
    "a26_silent_member": Script(
        holds=(r"run lost: \[\]",),
        seconds=400,
    ),
    "a27_small_order_key": Script(
        holds=("anonymous done .*'bad-key': 1", "explore-then-commit done .*'bad-key': 1"),
    ),
    "a28_epsilon": Script(
        edits=(("s = load(f); from protocol.shared import schedule_of", "sys.exit()"),),
        holds=(
            "epsilon = inf: check exit 2",
            r"epsilon = 1e\+308: check exit 2",
            "epsilon = 1000000.0: check exit 2: .* budget",
            "epsilon = 50.0: .*claim: ε = 50",
        ),
    ),
    "a29_fuzz_agents": Script(
        holds=(r"\A\d{5,} hostile frames\s*\Z",),
        seconds=600,
    ),
    "a30_markup": Script(
        holds=(r"--out shown; hyperlink in the terminal: False\n\[\]",),
    ),
    "a31_local_user_tcp": Script(
        holds=(r"-> \('horizon', {}\)",),
    ),
    "a32_restart_spends_again": Script(
        holds=("coordinator exit 0 after 2 restarts; agent 0 joined 1 times",),
    ),
    # --- the second round ------------------------------------------------------------------------
    "n01_report_runs_code": Script(
        holds=(r"report sent -> rc 0 .* held", r"report \. -> rc 0 .* held", r"check .* held"),
        falls=("CODE RAN",),
    ),
    "n02_equivocation": Script(
        edits=(
            ("ex.signer.state(b", "states_anew(ex.signer, b"),
            (
                "import numpy as np",
                "import numpy as np\nfrom tests.support.signing import states_anew",
            ),
        ),
        holds=(
            r"(?s)(equivocation: .*?answers \[None, 0, 0, 0, 0, 0\].*?{0: 'equivocation'}.*?){6}",
        ),
    ),
    "n02b_equivocation_field": Script(
        why="in memory nobody has keys, so nothing is signed there",
        instead="tests/field/test_equivocation.py",
    ),
    "n03_watch_token_by_ps": Script(
        holds=("nothing found", "evil.example refused 403", "127.0.0.1 refused 403")
    ),
    "n04_bombs": Script(holds=(r"falls: \[\]",), falls=_NO_TRACE),
    "n05_storm": Script(
        environment={"FDS": "1024"},
        calls=("20 half",),
        holds=(r"agents joined after {\d: [^}]*\d: [^}]*\d: [^}]*\d: .* rc 0 ",),
        falls=_NO_TRACE,
    ),
    "n05b": Script(
        environment={"FDS": "1024", "GAP": "0.001"},
        calls=("20 half",),
        holds=(r"agents joined after {\d: [^}]*\d: [^}]*\d: [^}]*\d: .* rc 0 ",),
        falls=_NO_TRACE,
    ),
    "n06_checkpoint_gadget": Script(
        holds=(r"by name: held", r"creates a file anywhere: held"), falls=("FALLS",)
    ),
    "n07_journal_rollback": Script(
        holds=("0 numbers under which it said two different", "flipped bits: 0 of 2000"),
    ),
    "n08_small": Script(
        # a row alone has no checksum; the journal keeps it before the row
        edits=(('bad += ["journal bits"]', "bad += []"),),
        holds=(r"falls: \[\]",),
    ),
    "n09_early_frames": Script(
        holds=(r"flood True .* refused \{'too-early': \d{4}", r"(?s)flood True.* run: done"),
    ),
    # --- the third round -------------------------------------------------------------------------
    "p01_keys_downgrade": Script(
        holds=("stale-unmask: assignment 1 is not settled",), falls=("what the coordinator reads",)
    ),
    "p02_ledger_rewound": Script(
        holds=(
            r"  next run gets rows: \[\[0.04, 0.05\], \[\]\]",
            "run 3 .budget 2.0.*REFUSED",
            "session over a: REFUSED",
            r"patient over b again: \[\[\], \[\]\]",
            "second agent, over the copy, meanwhile: REFUSED",
            r"run 2 over the same .*: \[\[0.02, 0.03\], \[\]\]",
            "over b, secret kept: REFUSED",
            "over b, no person named: REFUSED",
        ),
        falls=_NO_TRACE,
    ),
    "r01_lock_link": Script(
        holds=(r"rc 2; victim is now: \[ssh-ed25519 AAAA precious\]; written into home: $",)
    ),
    "r02_group_and_siblings": Script(
        holds=(
            "refused  allowlist.toml 0664",
            "refused  coordinator.key 0664",
            "refused  folder 0775",
            "refused  code: filegroup",
            "refused  code: foldergroup",
            "refused  code: sibling ",
            "refused  code: siblingowner",
            "refused  code: cached",
            "ACCEPTED code: plain",
        ),
        falls=(r"ACCEPTED (?!code: plain)", "byte code that uid"),
    ),
    "r02b_group_real": Script(holds=(r"helper\.py\nheld",), falls=("CODE OF uid",)),
    "r03_frame_by_two_regroups": Script(
        edits=(
            (
                "self.attendance.verdict is None: self.lose(LOST)",
                "self.attendance.verdict is None: r = [*r, *self.lose(LOST)]",
            ),
        ),
        holds=(r"(?s)and again with arms.*dismissed: \{3: 'lost'\}",),
        falls=("PROOF", "stands still"),
    ),
    "r04_complaints_first_come": Script(
        holds=("honest complaint taken: True", "agent 0 refused what agent 5 sent")
    ),
    "r04b_relay_hides_itself": Script(
        holds=(
            "hdp-mab with ten complaints first -> relay named: True",
            "ddp-mab with ten complaints first -> relay named: True",
        ),
    ),
    "r05_rotated_key": Script(
        edits=(
            (
                "asks = partial(keys.revoked, d, 4)",
                "asks = lambda was=co.agents: "
                "(co.refresh(), [n for n in range(4) if not co.believes(n, was[n])], co.trouble)",
            ),
        ),
        holds=(
            r"\(a\) .*revoked \(None, \[3\], ''\) ; the old key is still rank None ; .* is 3",
            r"\(b\) .*the old key is still rank None",
            r"\(c\) .*revoked \(None, .*allowlist\.toml",
        ),
    ),
    "r05b_rotated_key_real": Script(
        edits=(
            (
                "def post(*a): return subprocess.run([str(BIN), *map(str, a)]",
                "def post(what, at, *a): return subprocess.run("
                '[str(BIN), "keys", str(at), f"--{what}", *map(str, a)]',
            ),
        ),
        holds=("the owner, with the new key: .'Welcome', 0", "the key of agent 0 was revoked"),
        falls=("with the old key: .'Welcome'",),
    ),
    "r06_ledger_patterns": Script(
        holds=(r"4000 runs, \d+ bytes: [0-2]\.\d+ s",),
    ),
    "r07_checkpoint_ledger": Script(
        holds=(r"after:  \(\['bookmarks'\], '0o644', \('delete',\)\)",)
    ),
    "r08_rebinding_http": Script(
        edits=(
            ("CoordinatorStatus(agents=3), field", "CoordinatorStatus(agents=3), d, field"),
            ("w = Web(", "import pathlib; d = pathlib.Path('.'); w = Web("),
        ),
        holds=("/healthz <HTTPError 403", "/readyz <HTTPError 403", "/metrics <HTTPError 403"),
    ),
    "r10_poisoned_sum": Script(
        holds=(
            "masked, noise shared . all honest {'identified, arm 0",
            "masked, noise shared . agent 0 lies {'implausible, arm None",
            "not masked, noise per_agent . agent 0 lies .*(implausible|RunFailed)",
        ),
    ),
    "r11_configure_bomb": Script(
        edits=(
            (
                "msgspec.msgpack.decode(msgspec.msgpack.encode(raw), type=AgentSetup)\n    rss",
                "raw\n    rss",
            ),
            (
                "h = AgentHost(setup, 0",
                "from posse.hosts.agent_setup import read_setup; "
                "h = AgentHost(read_setup(0, msgspec.msgpack.encode(setup)), 0",
            ),
        ),
        holds=(
            r"K = 10\^9 shared arms .*Undecodable",
            r"random means of 10\^8 arms .*Undecodable",
            r"knowledge gamma 10\^7 .*SpecError",
            r"horizon 10\^15 private-ucb trees .*SpecError",
            r"neighbours 10\^5 .*Undecodable",
        ),
        falls=(r"\+\d{3,} MiB", "HANGS", "MemoryError", "killed"),
    ),
    "r12_clock_overflow": Script(
        holds=(r"clock 9223372036854775807 .*rc 3", r"clock -\d+ .*rc 3", r"clock 46\d+ .*rc 3"),
        falls=_NO_TRACE,
    ),
    "r13_bad_utf8": Script(
        edits=(
            (
                "from posse.hosts.agent_run import _regrouped",
                "from posse.agent.run import _KNOWLEDGE; "
                "_regrouped = lambda order: _KNOWLEDGE.read(order.knowledge)",
            ),
        ),
        holds=(r"falls: \[\]",),
        falls=_NO_TRACE,
    ),
    "r14_js_hostile": Script(
        why="it needs clients/js built",
        instead="tests/clients/test_js.py::test_a_hostile_coordinator_gets_a_printable_sentence",
    ),
    "r15_mathtext": Script(holds=(r"falls: \[\]",), seconds=300),
    "r16_rejoin_forever": Script(
        edits=(("control.Ready()", "control.Ready(0)"),),
        holds=(r"\(a\) 100000 joins over two connections: [1-9] inc", r"\(b\) .* ended: \[.*Fail"),
    ),
    "r16b_rejoin_real": Script(
        calls=("attack 120",),
        holds=("coordinator rc 3 joins", "agent 0 joined anew again and again"),
    ),
    "r17_neighbour_keys": Script(holds=(r"effects: \['Fail'\]",)),
    "r18_small_order_signing_key": Script(
        holds=("is a key of small order",),
        falls=("posse allow takes it: [0-9a-f]", "holds: .*True"),
    ),
    "r19_fifo_beside": Script(
        inside="{posse} new mine",
        holds=("pipe beside: rc [02] ", "1 TB beside: rc [02] ", "nothing beside: rc 0 "),
    ),
    "r21_allow_revoke_race": Script(
        holds=("still listed 0 times, the new key is missing 0 times",)
    ),
}
