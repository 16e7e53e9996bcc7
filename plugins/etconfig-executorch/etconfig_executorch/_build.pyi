"""Constants that are written when the extension is built."""

EXECUTORCH_VERSION: str
"""The release that the extension was built against."""
