"""What the agents of one process hold in common."""

from posse.agent.cohort import Cohort


def test_every_so_many_share_what_the_first_of_them_makes() -> None:
    cohort, made = Cohort(2), []

    def make(rows: int) -> list[int]:
        made.append([rows])
        return made[-1]

    one, other, again = (cohort.of(make) for _ in range(3))
    assert one is other
    assert again is not one
    assert made == [[2], [2]]
