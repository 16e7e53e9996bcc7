"""The option of TensorRTBackend, declared for etconfig."""
