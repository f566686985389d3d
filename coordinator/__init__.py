"""The decisions of a server. A family without a server has no file here."""
