"""The composition level: the modules where configuration and execution meet."""
