"""Bundles: their layout, checked readers and a writer."""
