"""Where agents stand in the picture of a graph."""

import math

import pytest

from posse.report.graph import layout


def test_a_ring_is_drawn_as_one_whatever_its_ranks_are() -> None:
    links = [(0, 2), (1, 2), (1, 3), (0, 3)]
    place = layout(4, links)
    for one, other in links:
        assert math.dist(place[one], place[other]) == pytest.approx(math.sqrt(2), rel=1e-6)


def test_components_lie_side_by_side_and_do_not_touch() -> None:
    place = layout(9, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (6, 7)])
    parts = [(0, 1, 2), (3, 4, 5), (6, 7), (8,)]
    for n, part in enumerate(parts):
        for other in parts[n + 1 :]:
            assert min(math.dist(place[i], place[j]) for i in part for j in other) > 0.5
    assert set(place) == set(range(9))


def test_a_grid_is_drawn_as_a_grid() -> None:
    right = [(4 * row + n, 4 * row + n + 1) for row in range(3) for n in range(3)]
    down = [(n, n + 4) for n in range(8)]
    place = layout(12, right + down)
    step = 2 / 3
    for i, j in right:
        assert (place[j][0] - place[i][0], place[j][1]) == pytest.approx((step, place[i][1]))
    for i, j in down:
        assert (place[j][0], place[i][1] - place[j][1]) == pytest.approx((place[i][0], step))
