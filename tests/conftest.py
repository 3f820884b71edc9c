"""What all tests share."""

from hypothesis import settings

# No test may depend on time or luck: a slow machine is no fault, and every run draws the same examples.
settings.register_profile("rackstack", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("rackstack")
