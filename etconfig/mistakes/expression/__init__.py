"""Conditions and expressions that are wrong."""
