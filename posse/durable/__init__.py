"""What is on disk when a process has gone: what runs leave behind."""
