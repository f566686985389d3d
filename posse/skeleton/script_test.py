from pathlib import Path

import posse


def test_both_engines_find_the_best_arm():
    run = Path(__file__).with_name("run.toml")
    memory, processes = (posse.run(run, engine=kind).runs for kind in ("memory", "processes"))
    assert [record.best_arm for record in memory] == [0] * 5
    assert [record.regret_curve for record in memory] == [r.regret_curve for r in processes]
