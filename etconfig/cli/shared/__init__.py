"""Options, files, output and completion that several commands share."""
