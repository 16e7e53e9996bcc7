"""Elements that are created, copied, selected, joined or moved."""
