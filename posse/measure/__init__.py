"""Measurement of what agents do and what crosses the wire."""
