"""What operators see of a process: its status, health and metrics, and the server of these."""
