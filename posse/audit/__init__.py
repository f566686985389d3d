"""Audits: a lower bound on what an adversary's view reveals of one reward.

`neighbours`  two data sets that differ in one reward, and arms that give them
`view`        an adversary's view of a run, as named numbers
`event`       an event that tells the two apart: learned, then fixed
`bounds`      Clopper and Pearson's intervals, and what follows for ε and δ
`judge`       one audit of two tables of views: the verdict
`trials`      runs in memory, in pieces that are kept
`whole`       the audit of a plan, from the worst case to the verdict
`guess`       claims that are not about ε: how often the best arm is guessed
`captured`    checks of frames from the field, without the truth
`sums`        sums of masked reports that a coordinator can read
`anonymity`   whether a server saw groups only
"""
