"""Uses all that plugin API 1 offers."""
