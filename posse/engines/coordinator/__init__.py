"""The coordinator of engine `processes`: its socket, its loop, and who may join."""
