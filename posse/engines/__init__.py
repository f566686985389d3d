"""The engines: both run the same hosts and carry their frames."""
