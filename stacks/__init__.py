"""Intent: what a person writes, what is known, and the plan that follows. Pure; no effect anywhere."""
