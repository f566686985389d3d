"""A simulator: the real coordinator and agents in one process, under virtual time.

`schedule` lets one process run at a time, `network` and `sockets` are what connects them, `machine`
is a process's world, `faults` what goes wrong, `cluster` a whole run, and `check` what must hold.
"""
