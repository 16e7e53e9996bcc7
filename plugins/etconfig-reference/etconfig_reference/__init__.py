"""Reference backends for etconfig: small, complete, and without a device.

`plugin` is what etconfig loads; it needs numpy alone. `aot` exports programs and needs
executorch; the two halves meet only in the payload.
"""
