"""Compiling: schemas and layers become candidates for each option."""
