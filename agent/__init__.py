"""What an agent decides, and what it does to a message before it is sent."""
