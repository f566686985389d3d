"""What each system claims to protect, of what, and against whom; one file per family."""
