"""The memory that programs need with their options, and whether a device has it."""
