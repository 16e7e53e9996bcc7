"""The declarations of a backend: typed options, units, constraints, and its `BackendSpec`.

Importing this package imports none of its modules. pydantic is imported with the options of the first plugin,
so a file that sets no options is checked without it.
"""
