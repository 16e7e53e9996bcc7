"""Deciding from a bundle alone, as a device does."""
