"""The language server: diagnostics, completion, hover, definitions and fixes while a file is edited."""
