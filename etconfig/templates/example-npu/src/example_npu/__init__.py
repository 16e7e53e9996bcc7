"""`ExampleNpuBackend` for ExecuTorch.

etconfig loads `plugin`. `aot` exports programs and needs executorch, `runtime` does not.
The two halves share only `payload` and `ops`.
"""
