"""Reading and writing small FlatBuffers."""
