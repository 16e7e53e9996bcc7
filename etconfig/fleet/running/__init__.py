"""Runs over the files of a fleet, here or on workers, and their tables."""
