"""Values that do not fit their options."""
