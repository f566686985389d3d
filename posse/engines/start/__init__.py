"""How agents and runs become processes, on this machine or on a cluster's."""
