"""Measurements: configurations of one model run in turns and are compared, with intervals."""
