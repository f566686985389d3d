# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`SharedMeans` for one agent in a steady slot with γ = 1, in C.

For the few numbers of one agent, NumPy costs some forty calls per slot (`posse_systems.dubey2020.flooding`,
`posse_systems.dubey2020.agent`). These functions compute the same, equal to the bit, because they add in the
same order. In any unusual case they change nothing and say so, and NumPy's form decides, as it does
where posse was installed without a C compiler, or is editable (setup.py).
"""

from libc.math cimport isinf, isnan, sqrt
from libc.string cimport memcpy

cdef struct Envelope:  # as in `posse_systems.dubey2020.messages.Bundle`
    unsigned int origin
    unsigned int created
    unsigned short life

cdef Py_ssize_t ENVELOPE = 10


def hear(
    list bundles,
    const long[::1] origins,
    unsigned int slot,
    double low,
    double high,
    double[:, :, ::1] heard,
):
    """Take the origins' own messages of this slot into `heard`, if none is to be refused.

    `bundles` has one `means_record` per origin, in the order of `origins`; `heard` is that of
    `SharedMeans` with one row, shape (origins, 1, 2K). Refused are means that are infinite or
    outside [low, high], counts that went down, and counts that add up to more than the slot.
    """
    cdef Py_ssize_t i, k, K = heard.shape[2] // 2
    cdef const unsigned char* said
    cdef Envelope head
    cdef double mean, count, pulls
    cdef unsigned int n
    if heard.shape[0] != len(bundles) or heard.shape[0] != origins.shape[0] or heard.shape[1] != 1:
        return False
    for i in range(heard.shape[0]):
        if len(<bytes?> bundles[i]) != ENVELOPE + 12 * K:
            return False
        said = <bytes> bundles[i]
        memcpy(&head, said, ENVELOPE)
        if head.origin != origins[i] or head.created != slot or head.life != 1:
            return False
        pulls = 0.0
        for k in range(K):
            memcpy(&mean, said + ENVELOPE + 8 * k, 8)
            memcpy(&n, said + ENVELOPE + 8 * K + 4 * k, 4)
            if isinf(mean) or mean < low or mean > high:
                return False
            if n < heard[i, 0, k] or (isnan(mean) and heard[i, 0, k] > 0):
                return False
            pulls += n
        if pulls > slot:
            return False
    for i in range(heard.shape[0]):
        said = <bytes> bundles[i]
        for k in range(K):
            memcpy(&mean, said + ENVELOPE + 8 * k, 8)
            memcpy(&n, said + ENVELOPE + 8 * K + 4 * k, 4)
            count = 0.0 if isnan(mean) else n
            heard[i, 0, k] = count
            heard[i, 0, K + k] = 0.0 if isnan(mean) else count * mean
    return True


def best(const double[:, ::1] own, const double[:, :, ::1] heard, double log):
    """argmax_k μ̂_k + sqrt(2 log t / N_k); -1 on a tie, or if some N_k = 0.

    `own` has n_k and s_k, shape (1, 2K), `heard` those of the others, shape (origins, 1, 2K).
    """
    cdef Py_ssize_t i, k, K = own.shape[1] // 2, arm = -1
    cdef double N, s, index, highest = 0.0
    cdef bint alone = False
    for k in range(K):
        N = s = 0.0
        for i in range(heard.shape[0]):
            N += heard[i, 0, k]
            s += heard[i, 0, K + k]
        N = own[0, k] + N
        s = own[0, K + k] + s
        index = s / N + sqrt(2 * log / N)
        if N == 0 or isnan(index):
            return -1
        if arm < 0 or index > highest:
            arm, highest, alone = k, index, True
        elif index == highest:
            alone = False
    return arm if alone else -1
