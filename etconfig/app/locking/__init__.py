"""Locks: what resolutions rest on, written down and compared."""
