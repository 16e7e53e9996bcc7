"""`ExampleNpuBackend` for ExecuTorch.

`plugin` is what etconfig loads. `aot` exports programs and needs executorch, `runtime` does not.
The two halves meet only in `payload`.
"""
