"""Explaining: where values come from, and how results differ."""
