"""The options of `ExampleSchemaBackend`, which is compiled into an ExecuTorch runtime.

etconfig loads `plugin`. Nothing here runs: the backend itself is written in C++.
"""
