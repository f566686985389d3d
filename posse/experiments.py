"""What experiments are made with: runs one by one, on all cores, kept on disk; their statistics.

The packages `posse-papers` and `posse-arena` are made with it. `prepare` makes a plan of a run
file's tables, and `run_in_memory(plan, number)` makes run `number` of it. `outcomes` keeps what was
done in a `Store`, from which the same experiment goes on. `Audit` and `epsilon_at_least` bound from
below what a release tells of one reward. `connect_to_dask(DaskPlacement("dask://HOST:PORT"))` is a
client of a Dask cluster, as a context.
"""

from posse.api import make_runs, run_in_memory
from posse.audit.bounds import ERROR, epsilon_at_least
from posse.audit.event import ViewTable
from posse.audit.guess import Guess
from posse.audit.judge import AuditVerdict, judge
from posse.audit.whole import Audit
from posse.durable.batch import Piece, Store, carry_out, outcomes
from posse.durable.made_by import digest, made_by, our_code
from posse.engines.start.dask import DaskPlacement, on_workers
from posse.engines.start.dask import connect as connect_to_dask
from posse.engines.start.pool import on_all_cores
from posse.errors import InputError
from posse.measure.confidence import mean_ci, mean_interval, student, wilson
from posse.measure.numbers import number
from posse.plan import Plan, prepare
from posse.progress import Progress, Screen, duration
from posse.results.measures import TOTALS
from posse.spec.explain import nearest
from posse.system import find_system, get_system
from posse.testing.small import SMALL

__all__ = [
    "ERROR",
    "SMALL",
    "TOTALS",
    "Audit",
    "AuditVerdict",
    "DaskPlacement",
    "Guess",
    "InputError",
    "Piece",
    "Plan",
    "Progress",
    "Screen",
    "Store",
    "ViewTable",
    "carry_out",
    "connect_to_dask",
    "digest",
    "duration",
    "epsilon_at_least",
    "find_system",
    "get_system",
    "judge",
    "made_by",
    "make_runs",
    "mean_ci",
    "mean_interval",
    "nearest",
    "number",
    "on_all_cores",
    "on_workers",
    "our_code",
    "outcomes",
    "prepare",
    "run_in_memory",
    "student",
    "wilson",
]
