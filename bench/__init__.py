"""Benchmarks: what posse costs on this machine. Run them by `python -m bench` or `make bench`."""
