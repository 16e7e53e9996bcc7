"""Proofs about conditions without a device: ranges, assumptions, example devices, within a bound of steps."""
