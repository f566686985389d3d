"""Graphs, components, sinks."""
