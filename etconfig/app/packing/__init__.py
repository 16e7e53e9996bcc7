"""Packing: profiles, schemas and models as bundles for devices."""
