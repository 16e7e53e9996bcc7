"""Inventories: the devices of a fleet, read and checked by columns."""
