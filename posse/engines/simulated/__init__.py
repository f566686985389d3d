"""The real coordinator and agents in one process, under virtual time.

`schedule` lets one process run at a time, `network` and `sockets` are what connects them, `machine`
is a process's world, `cluster` a whole run. Needs greenlet.
"""
