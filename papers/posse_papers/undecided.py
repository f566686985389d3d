"""Why a statement is undecided, in words, and what would decide it: shown while it is."""

WHY: dict[tuple[str, str], str] = {
    ("dubey-1a", "ε = 1 is no privacy: its regret is about the non-private one"):
        "10 runs of 30 agents differ by 68 ± 48: too much for a twentieth or a tenth, and on both "
        "sides of a quarter. 100 runs at the paper's size decide.",
    ("dubey-1b", "with no contamination the performance is better"):
        "One message in a thousand is a lie, and what it costs (-2 ± 4 in 96 runs) is less than "
        "runs differ by. More quick runs hardly help; the paper's 200 agents may.",
    ("dubey-1c", "byzantine-proof: matches it too"):
        "The paper does not say whose optimum. Of Thompson sampling's the regret is twice, of "
        "UCB1's between half and all, which 6 runs do not place within a limit; full size does.",
    ("dubey-coverage", "with σ√(2 log(1/δ)/N)"):
        "The bound is nearly tight: 4.5 to 5.2 % of 32,000 intervals miss where 5 % may. If it is "
        "the 4.9 % that was found, ten times as many tell it from the limit.",
    ("robust-liars", "mass at 0: better than the mean as soon as somebody lies"):
        "One run differs from the next by hundreds, the two estimators by 16 on average of 5. "
        "It was looked at once; with one liar in five a difference that small may stay open.",
    ("robust-liars", "opposite: better than the mean as soon as somebody lies"):
        "As of the mass at 0: 117 ± 330 in 5 runs, looked at once; if it is 117, 40 runs tell it.",
    ("robust-epsilon", "better than the mean at every ε"):
        "Clear at two of three ε. At ε = .1 noise is largest, and 32 runs (50 ± 130) do not tell "
        "the estimators apart; if it is 50, some 200 do.",
    ("tossou-2a", "the regret of all three algorithms is logarithmic"):
        "The test compares the growth in the last two doublings of T, whose ratio is 1 for a "
        "logarithm; 5 runs, looked at once, leave its interval on both sides of the limit.",
    ("esfandiari-2", "of the decompositions greedy performs worst"):
        "Refuted where all estimates are used. Where they are evenly split greedy and random are "
        "as good as each other on these instances (-2,400 ± 34,000): likely open at full size.",
    ("li-7", "R = 5, p = 1: close to the largest cost"):
        "Refuted within 5 and 10 %. Within 25 % the limit is a ratio of .8 and .78 was found in 64 "
        "runs: it lies at the limit.",
    ("li-10", "star and fully-connected achieve the smallest regrets, the ring a larger one"):
        "A ring less a star is -340 ± 530 in 8 runs, looked at once: the graphs differ by less "
        "than runs of one graph do. 30 runs tell a difference of this size.",
    ("li-12", "CDP-MAB achieves the smallest regret, then the hybrid, then the decentralised"):
        "DDP and HDP differ by less than their spread after 96 runs (-230 ± 520); Corollary 3 "
        "orders bounds, and nothing says that regrets of this size follow.",
}  # fmt: skip
"""By experiment and statement."""
