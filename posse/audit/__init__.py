"""Audits: how much what an adversary sees tells of one reward, at least.

`neighbours` two data sets that differ in one reward, and arms that give them
`view`       what an adversary sees of a run, as numbers that have names
`event`      by what the two are told apart: learned, then fixed
`bounds`     Clopper and Pearson's intervals, and what follows for ε and δ
`judge`      one audit of two tables of what was seen: the verdict
`trials`     runs in memory, in pieces that are kept
`whole`      the audit of a plan, from the worst case to the verdict
`guess`      claims that are not about ε: who guesses the best arm; whose report is in a sum
`captured`   what frames from the field show without the truth
"""
