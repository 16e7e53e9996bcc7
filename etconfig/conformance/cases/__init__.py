"""The programs of the kit: what goes into each, and the answers of eager PyTorch."""
