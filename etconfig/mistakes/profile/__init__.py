"""Keys, headers and names in profiles and project files that are wrong."""
