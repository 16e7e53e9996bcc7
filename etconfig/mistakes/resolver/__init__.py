"""Option paths and assignments that are wrong."""
