"""Proofs about all devices: values that options refuse, and combinations that contradict each other."""
