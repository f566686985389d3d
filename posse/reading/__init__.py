"""What runs and audits left in a folder; pages know nothing else of them."""
