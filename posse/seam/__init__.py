"""What posse makes public for systems, by theme; posse-systems imports nothing else of it."""
