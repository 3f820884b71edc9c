"""The parts of the picture of a plan."""
