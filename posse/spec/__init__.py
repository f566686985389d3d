"""The run file: its tables, and one clear sentence for each mistake."""
