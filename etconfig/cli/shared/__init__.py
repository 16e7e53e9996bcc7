"""Options, files and output that several commands share."""
