"""From `sys.argv` to a command, with quick answers that need no click."""
