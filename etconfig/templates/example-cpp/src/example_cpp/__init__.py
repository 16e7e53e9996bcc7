"""`ExampleCppBackend` for ExecuTorch: a C++ library, and what etconfig needs to know about it.

etconfig loads `plugin`. `aot` exports programs and needs executorch; the library does not.
"""
