"""A fractional assignment as a mixture of whole ones, by maximum flow.

A constructive form of Carathéodory's theorem. It walks along faces of the polytope

    { x >= 0 : Σ_j x_ij = 1 for each user i, ⌊c_j⌋ <= Σ_i x_ij <= ⌈c_j⌉ for each arm j },

where c_j are the column sums of the given x. The constraints are two laminar families, so all
vertices are whole (Budish, Che, Kojima and Milgrom 2013). Each step finds a whole point v on the
smallest face that holds x, as a flow with lower bounds. It then goes from v through x to the
boundary of the face. The face loses a dimension each time, so there are at most N·K + 1 points.

All arithmetic is in integers: x is given in units of 1/L, and weights come out in these units.
"""

import numpy as np
from numpy.typing import NDArray

from posse.seam.messages import IntArray


def whole_points(x: IntArray, unit: int) -> list[tuple[int, IntArray]]:
    """Weights and whole assignments whose mixture is x / unit exactly.

    `x` has shape (users, arms): integers >= 0 whose rows sum to `unit` (L), or to 0 for a user that
    takes no part and has -1 in each assignment. Returns pairs (weight, arm per user); the weights
    are positive and sum to `unit`. `ValueError` for other rows.
    """
    users = np.flatnonzero(x.sum(axis=1))
    if (x[users].sum(axis=1) != unit).any() or (x < 0).any():
        raise ValueError("each row of x must sum to the unit, or to 0")
    rest = x[users].copy()
    columns = rest.sum(axis=0)
    low, high = columns // unit, -(-columns // unit)
    mass = unit
    points: list[tuple[int, IntArray]] = []
    rows = np.arange(len(users))
    while mass:
        columns = rest.sum(axis=0)
        least = np.where(columns == high * mass, high, low)
        most = np.where(columns == low * mass, low, high)
        arms = _point_on_face(rest > 0, least, most)
        chosen = np.bincount(arms, minlength=x.shape[1])
        step = int(rest[rows, arms].min())
        # a larger step would push a column's share of the rest out of [⌊c_j⌋, ⌈c_j⌉]
        up, down = (chosen == high) & (low < high), (chosen == low) & (low < high)
        step = min([step, *(columns - low * mass)[up].tolist(), *(high * mass - columns)[down]])
        rest[rows, arms] -= step
        mass -= int(step)
        point = np.full(len(x), -1, dtype=np.int64)
        point[users] = arms
        points.append((int(step), point))
    return points


def _point_on_face(allowed: NDArray[np.bool_], least: IntArray, most: IntArray) -> IntArray:
    """An allowed arm per user (`allowed[i, j]`), with least[j] to most[j] users on arm j.

    The source gives each user one unit. Arm j passes least[j] to the sink on an edge of its own,
    and up to most[j] - least[j] more through a common node that passes the rest. A flow of all
    users fills every edge of the first kind.
    """
    # importing SciPy takes longer than an agent's whole start, and no agent needs it
    from scipy.sparse import csr_array  # noqa: PLC0415
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    users, arms = allowed.shape
    source, extra, sink = users + arms, users + arms + 1, users + arms + 2
    i, j = np.nonzero(allowed)
    each_user, each_arm = np.arange(users), users + np.arange(arms)
    tails = np.concatenate([np.full(users, source), i, each_arm, each_arm, [extra]])
    heads = np.concatenate(
        [each_user, users + j, np.full(arms, sink), np.full(arms, extra), [sink]]
    )
    capacity = np.concatenate(
        [np.ones(users + len(i)), least, most - least, [users - least.sum()]]
    ).astype(np.int32)
    graph = csr_array((capacity, (tails, heads)), shape=(sink + 1, sink + 1))
    maximum = maximum_flow(graph, source, sink)
    if maximum.flow_value != users:
        raise ValueError("this face has no whole assignment")
    flow = maximum.flow[:users, users : users + arms].toarray()
    chosen: IntArray = flow.argmax(axis=1).astype(np.int64)
    return chosen
