"""What is served: keys, rank commands and the endpoint."""
