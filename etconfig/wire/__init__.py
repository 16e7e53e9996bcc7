"""Options as ExecuTorch takes them: keys and plain values, and the limits of each of its bindings.

Importing this package loads none of its modules, because plugins need only those about the option map.
"""
