"""What an agent on another machine makes of its coordinator's configuration."""

import logging

import msgspec

from posse.arms import ArmsSpec
from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.engines.events import Log
from posse.engines.joining import Orders
from posse.errors import PosseError
from posse.hosts.agent_setup import AgentSetup
from posse.plan import Plan


class OwnRun(Orders):
    """This machine's own run file, as a `plan`: its arms are used, and the rest must be as told.

    Without one the coordinator's is followed, with paths relative to `folder`; code is not taken
    from it. `lab` lets real rewards (arms csv, python) be protected by the lab's noise, which is
    none against whoever knows the seed.
    """

    def __init__(self, plan: Plan | None, folder: str, *, lab: bool) -> None:
        self._plan = plan
        self._folder = folder
        self._lab = lab

    def accept(self, setup: AgentSetup) -> AgentSetup:
        """See `Orders`."""
        plan = self._plan
        if plan is None:
            if isinstance(setup.arms, PythonArms):
                raise PosseError(
                    "the coordinator's run file has arms of kind python, and code is not taken "
                    "from the network; start the agent with --run RUN.toml"
                )
            self._refuse_lab(setup, setup.arms)
            return msgspec.structs.replace(setup, base=self._folder)
        spec, untold = plan.spec, plan.system.untold
        self._refuse_lab(setup, spec.arms)
        here = {
            "system": spec.system,
            "variant": spec.variant,
            "parameters": {k: v for k, v in spec.parameters.items() if k not in untold},
            "mode": spec.mode,
            "agents": spec.agents.count,
            "clock": plan.clock,
        }
        different = [name for name, value in here.items() if getattr(setup, name) != value]
        if different:
            raise PosseError(
                f"the coordinator's configuration differs from {', '.join(different)} of this "
                "agent's own run file; give both the same"
            )
        if isinstance(setup.arms, int):
            return setup
        return msgspec.structs.replace(setup, arms=spec.arms, base=spec.base)

    def _refuse_lab(self, setup: AgentSetup, arms: ArmsSpec | int) -> None:
        if isinstance(arms, CsvArms | PythonArms) and setup.mode == "lab" and not self._lab:
            raise PosseError(
                "the run is a lab's: its noise is seeded, and whoever knows the seed can take it "
                'off real rewards; put mode = "field" into the run file, or start with --lab'
            )

    def remarks(self, setup: AgentSetup) -> list[Log]:
        """See `Orders`: in the field, what this agent is about to give away."""
        if setup.mode != "field":
            return []
        claim = setup.claim
        remarks = [Log(logging.INFO, f"{claim.mechanism}: {claim.says}")]
        if claim.mechanism == "none":
            remarks.insert(0, Log(logging.WARNING, f"{setup.system} protects no rewards"))
        if not isinstance(setup.arms, int) and setup.arms.ends:
            remarks.append(Log(logging.INFO, setup.arms.ends))
        return remarks
