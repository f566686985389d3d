"""What runs turned out to be, and what they leave on disk."""
