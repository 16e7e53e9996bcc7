"""PyTorch for etconfig: options of exported programs, and delegates that PyTorch runs.

etconfig loads `plugin`, which does not import torch. `aot` delegates models to `TorchBackend` when they are
exported, and needs executorch.
"""
