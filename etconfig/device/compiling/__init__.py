"""Compiling: what the resolver knows becomes the tables of a bundle."""
