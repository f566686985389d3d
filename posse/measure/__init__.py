"""Counting what agents do and what crosses the wire."""
