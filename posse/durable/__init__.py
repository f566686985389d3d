"""What is on disk after a process has ended: journals, ledgers, captures, and results of runs."""
