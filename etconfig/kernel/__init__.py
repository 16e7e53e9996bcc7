"""The contract of kernels: tensors, memory, the registry, argument checks and steps."""
