"""What decides a statement."""

from posse.papers import base, li_theory
from posse.papers.base import Measured
from posse.results.record import RunRecord


def test_regret_above_the_bound_refutes_it():
    run = li_theory._cdp("printed")
    measured = Measured("corrected", base.regret)
    record = RunRecord(run=0, seed=1, regret_curve=[[0, 0], [1, 1.0], [10, 5.0]])
    measured.runs["a", 0.0] = [record]
    check = base.below_theory("", "a", 0.0, run).check
    assert check(measured).answer == "borne out"
    record.regret_curve = [[0, 0], [1, 1.0], [10, 1e9]]
    assert check(measured).answer == "not borne out"
