"""Functions of one element, or of elements at equal places."""
