"""Why no seed reaches some `raise` statements: a reason for each that `reached.json` has not.

`python -m tests.support.reach --unreached` names those without a reason. A new `raise` needs a seed
(the same module searches) or a place here.
"""

from typing import Final

REASONS: Final = {
    "a mistake of a system's author, which no system of posse's makes; tests of seam and hosts": """
        agent/run.AgentRun.tell:2
        agent/run.AgentRun.tell:7
        agent/run.AgentRun._check:1
        agent/run.AgentRun.lookahead:1
        coordinator/server.Server.missing:1
        coordinator/server._machine:1
        posse/hosts/endpoint.Endpoint.send:1
        posse/hosts/endpoint.Endpoint._put:1
        """,
    "a mistake of posse's own: other code has to be wrong first": """
        agent/joining.Joining._go:1
        agent/process.AgentProcess._carry:1
        coordinator/hub.Hub._carry_out:2
        coordinator/lobby.Lobby._go:1
        posse/durable/checkpoint._Writer._array:1
        posse/durable/checkpoint._Writer._object:2
        posse/durable/journal.Journal.asked.ask:1
        posse/durable/journal._encode:1
        posse/wire/forwarding.Forwarding._box:2
        """,
    "a peer that lies with care; garbled bytes rarely become that, and tests send it": """
        agent/host.AgentHost._begin:1
        agent/joining.Joining._take_rank:1
        agent/masking.SumMasker.rest:1
        agent/masking.SumMasker.reveal:4
        agent/masking.SumMasker._agree:1
        agent/mesh.NeighbourLinks._forward_to:1
        agent/run.AgentRun.receive:1
        agent/run.AgentRun._regrouped:3
        agent/uplink.Uplink.require_signed:1
        agent/uplink.Uplink.resume:1
        coordinator/agreement.Agreement.attest:1
        coordinator/attendance.Attendance.take_last_word:2
        coordinator/host.CoordinatorHost._convict:1
        coordinator/masked_sum.MaskedSum.report:1
        coordinator/masked_sum.MaskedSum.settled:1
        coordinator/masked_sum.MaskedSum._expect:2
        coordinator/report.ReportForm.check:5
        coordinator/report.ReportForm.check:7
        coordinator/report.ReportForm.check:8
        coordinator/report.ReportForm._check_log:1
        coordinator/roster.Roster.admit:4
        coordinator/witness.Witness.take:1
        coordinator/witness.Witness.take:2
        coordinator/witness._split:1
        posse/durable/checkpoint._Reader._chance:1
        posse/durable/checkpoint._Reader._whole:1
        posse/durable/checkpoint._dtype:1
        posse/hosts/agent_setup.read_setup:2
        posse/hosts/agent_setup.read_setup:3
        posse/hosts/agent_setup.read_setup:4
        posse/hosts/endpoint.Endpoint.open:1
        posse/hosts/endpoint.Endpoint.open:2
        posse/wire/orders.CheckingLine.checked:1
        posse/wire/session.Session.resume:1
        """,
    "what a person asks for, or gives, before a run; a seed's run files are good": """
        agent/own_run.TheirRun.require_still:1
        agent/own_run.OwnData._check:3
        agent/remote.remote_agent:1
        agent/uplink.Uplink._connect:1
        coordinator/roster.Roster._bound_rank:4
        posse/durable/capture.writing:1
        posse/durable/directory.RunDirectory._check:2
        posse/durable/directory.RunDirectory._check:4
        posse/durable/ledger._refuse_runs:1
        posse/durable/made_by.made_by:1
        posse/durable/programme.read:1
        posse/durable/programme._task:1
        posse/durable/programme.events:2
        posse/durable/shown._figure.values:1
        """,
    "files that people copied, changed, mounted or opened to others; tests do that": """
        coordinator/roster.Roster._bound_rank:2
        coordinator/witness.Witness._read:1
        posse/durable/capture._may_be_replaced:1
        posse/durable/entries.Entries.check:2
        posse/durable/frames.Reader.new:1
        posse/durable/journal.Journal._open:1
        posse/durable/journal.Journal._open:2
        posse/durable/journal.Journal._open:3
        posse/durable/journal.Journal._checked:1
        posse/durable/journal.owner_of:1
        posse/durable/journal.owner_of:2
        posse/durable/ledger.Ledger._begun:1
        posse/durable/ledger.Ledger._look_around:2
        posse/durable/ledger.Ledger._recognise:2
        posse/durable/ledger.Ledger._refuse_given_away:1
        posse/durable/ledger.Ledger._told:1
        posse/durable/lifetime.pieces:1
        posse/durable/lifetime.pieces:2
        posse/durable/persons.PersonsLedger.admit:1
        posse/durable/persons.PersonsLedger.admit:2
        posse/durable/persons.PersonsLedger._require_there:1
        posse/durable/persons.PersonsLedger._require_whole:2
        """,
    "real sockets, threads, processes or libraries, which are not simulated": """
        agent/remote._await_way:1
        coordinator/hub.Hub._until:1
        coordinator/router.Router.__init__:1
        posse/durable/programme.events:1
        posse/engines/inquiry.reach:3
        posse/engines/processes.ProcessEngine._run:1
        posse/engines/processes.ProcessEngine.restart:1
        posse/wire/forwarding.Forwarding._box:1
        """,
    "more, or longer, than the small runs of seeds have": """
        agent/one_to_all.OneToAll._send_to_all:1
        coordinator/assembly.complete_record:1
        posse/wire/line.Line.send:1
        posse/wire/restraint.Restraint.look:1
        """,
}


def names() -> list[str]:
    """All that have a reason."""
    return [name for listed in REASONS.values() for name in listed.split()]
