"""The run file: what it may say, and one clear sentence where it is wrong."""
