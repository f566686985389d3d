"""Graphs over agents, components, sinks: plain data, without input or output."""
