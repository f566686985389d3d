"""The two ends of a run without sockets or clocks: frames in, frames out."""
