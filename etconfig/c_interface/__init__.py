"""Backends in C and C++: the interface of their libraries, and the `Backend` that calls one.

The interface is `include/etconfig/backend.h`. Importing this package loads none of its modules, since most of
them import ctypes and numpy.
"""
