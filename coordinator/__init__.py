"""What a server decides. A family without a server has no file here."""
