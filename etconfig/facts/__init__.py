"""The facts about a device: the registry of facts, fact sheets, and the detectors that fill them.

Importing this package imports none of its modules: checking conditions against the registry needs neither the
detectors nor JSON.
"""
