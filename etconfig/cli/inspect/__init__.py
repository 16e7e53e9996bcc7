"""The parts of `etconfig inspect`."""
