"""Arguments that follow the facts of a device."""
