"""The resources that a budget limits."""

RESOURCES = ("threads", "memory")
"""The resources that options may take, and that a budget may limit."""
