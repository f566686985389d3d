"""Li and Song 2022, federated elimination in master-worker, decentralized and hybrid networks."""
