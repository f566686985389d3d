"""Keys, allowlists, ZAP, and noise from a vetted source."""
