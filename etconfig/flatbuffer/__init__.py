"""Small FlatBuffers: layouts of tables, a bounded reader that trusts nothing, and a writer."""
