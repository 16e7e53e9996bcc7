"""Checks that run in processes of their own, and measurements of this process."""
