"""Why a statement is undecided, in words, and what would decide it: shown while it is.

Of what was measured there is no number here: the next recording would make it untrue.
"""

WHY: dict[tuple[str, str], str] = {
    ("dubey-1a", "ε = 1 is no privacy: its regret is about the non-private one"):
        "Runs of the small form differ by too much for each limit; a hundred at the paper's size "
        "decide.",
    ("dubey-1b", "with no contamination the performance is better"):
        "One message in a thousand is a lie, and what it costs is less than runs differ by. "
        "More quick runs hardly help; the paper's 200 agents may.",
    ("dubey-1c", "byzantine-proof: matches it too"):
        "The paper does not say whose optimum, and few runs do not place the regret between "
        "Thompson sampling's and UCB1's; full size does.",
    ("dubey-coverage", "with σ√(2 log(1/δ)/N)"):
        "The bound is nearly tight: about as many intervals miss as may. Ten times as many tell it "
        "from the limit, if it keeps what was found.",
    ("robust-liars", "mass at 0: better than the mean as soon as somebody lies"):
        "One run differs from the next by far more than the two estimators do. "
        "It was looked at once; with one liar in five a difference that small may stay open.",
    ("robust-liars", "opposite: better than the mean as soon as somebody lies"):
        "As of the mass at 0; if the difference is what was found, some more runs tell it.",
    ("robust-epsilon", "better than the mean at every ε"):
        "Clear at two of three ε. At the least noise is largest, and few runs do not tell "
        "the estimators apart; several times as many do, if the difference is what was found.",
    ("tossou-2a", "the regret of all three algorithms is logarithmic"):
        "The test compares the growth in the last two doublings of T, whose ratio is 1 for a "
        "logarithm; few runs, looked at once, leave its interval on both sides of the limit.",
    ("esfandiari-2", "of the decompositions greedy performs worst"):
        "Refuted where all estimates are used. Where they are evenly split greedy and random are "
        "as good as each other on these instances: likely open at full size.",
    ("li-7", "R = 5, p = 1: close to the largest cost"):
        "Refuted within 5 and 10 %. Within 25 % the ratio that was found lies at the limit.",
    ("li-10", "star and fully-connected achieve the smallest regrets, the ring a larger one"):
        "Looked at once, the graphs differ by less than runs of one graph do. Some more runs tell "
        "a difference of the size that was found.",
    ("li-12", "CDP-MAB achieves the smallest regret, then the hybrid, then the decentralised"):
        "DDP and HDP differ by less than their spread after many runs; Corollary 3 orders "
        "bounds, and nothing says that regrets of this size follow.",
}  # fmt: skip
"""By experiment and statement."""
