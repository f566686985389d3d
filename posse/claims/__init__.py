"""What every system claims to protect: unit, adversary, number, proof, and what is not covered."""
