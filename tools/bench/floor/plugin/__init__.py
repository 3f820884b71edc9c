"""Its plugin."""
