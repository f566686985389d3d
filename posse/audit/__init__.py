"""Audits: a lower bound on what an adversary's view reveals of one reward."""
