"""The experiments of five papers on private multi-agent bandits, run and judged with posse."""

__version__ = "0.2.0.dev0"
