"""The API key of a fleet."""
