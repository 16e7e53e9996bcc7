"""Texts that are not TOML."""
