"""The resources that a budget limits."""

RESOURCES = ("threads", "memory")
"""The resources that options may take, and that a budget may limit."""
MAX_AMOUNT = 2**53 - 1
"""The largest amount, which every form of a number can carry."""
