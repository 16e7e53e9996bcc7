"""Validation of configuration files, and their repair."""
