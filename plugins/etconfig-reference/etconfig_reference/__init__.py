"""Reference backends for etconfig: small, complete, and without a device.

etconfig loads `plugin`, whose backends need only numpy. `aot` exports programs and needs executorch.
The two halves share only the payload.
"""
