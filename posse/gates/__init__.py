"""Gates: each kind of harm is kept out in one place, through which everything of its kind goes.

`make check` refuses the way around each gate (`tests/gates/lint.py`); docs/security.md says what
each keeps out.
"""
