"""Fleets: inventories of very many devices, resolved by groups that cannot differ in any decision."""
