"""Li and Song 2022: federated elimination over three structures."""
