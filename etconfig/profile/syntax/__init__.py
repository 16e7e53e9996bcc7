"""The problems of texts that are not TOML, and the repairs of their lines."""
