"""Where agents run. Both engines carry the frames of the same two hosts."""
