"""Detection: the sources of facts on this device or a captured one."""
