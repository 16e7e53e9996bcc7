"""The composition level: the only modules where configuration and execution meet."""
