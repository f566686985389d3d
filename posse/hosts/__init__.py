"""The two ends of a run without sockets: frames in, frames out, time handed in."""
