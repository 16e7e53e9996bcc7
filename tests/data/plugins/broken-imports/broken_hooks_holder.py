"""It holds no object that could be a plugin."""
