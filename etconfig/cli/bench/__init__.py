"""The parts of `etconfig bench`."""
