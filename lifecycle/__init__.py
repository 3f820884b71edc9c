"""Drives Pulumi from outside: clears up after kills, keeps what was seen, sweeps what no state knows."""
