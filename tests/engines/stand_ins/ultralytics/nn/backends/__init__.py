"""A stand-in for the package of wrappers."""
