"""The programs of the kit: the inputs of each, and the outputs of eager PyTorch."""
