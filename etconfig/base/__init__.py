"""Small tools that every room may use: records, provenance, paths of options, written files, and others."""
