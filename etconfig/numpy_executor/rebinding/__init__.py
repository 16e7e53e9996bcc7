"""Dynamic shapes: bind the instructions again that read a tensor of a new shape."""
