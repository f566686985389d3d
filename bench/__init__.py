"""Benchmarks: what posse costs on this machine. Run by `python -m bench` or `make bench`."""
