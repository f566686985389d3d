"""What the agents of one process hold in common."""

from posse.protocol.cohort import Cohort


def test_every_so_many_share_what_the_first_of_them_makes() -> None:
    cohort, made = Cohort(2), []

    def make(rows: int) -> list[int]:
        made.append([rows])
        return made[-1]

    one, other, again = (cohort.join(make) for _ in range(3))
    assert one is other
    assert again is not one
    assert made == [[2], [2]]


def test_what_all_agents_share_is_made_once() -> None:
    cohort, makers = Cohort(2), iter([0.3, 0.7])
    assert [cohort.once("means", lambda: next(makers)) for _ in range(2)] == [0.3, 0.3]
