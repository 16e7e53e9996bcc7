"""Deciding: the options of every method instance on one device."""
