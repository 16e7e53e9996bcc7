"""Names and values of facts that are wrong."""
