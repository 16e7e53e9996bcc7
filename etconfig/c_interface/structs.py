"""The structs of `etconfig/backend.h`, for ctypes.

tests/unit/c_interface compiles the header and compares every size and offset. Pointers are plain addresses:
whoever fills a struct keeps alive what it points to.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    Structure,
    Union,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)

ABI_MAJOR = 1
ABI_MINOR = 0

KIND_NONE, KIND_TENSOR, KIND_BOOLEAN, KIND_INTEGER, KIND_NUMBER, KIND_TEXT, KIND_LIST, KIND_TABLE = range(8)


class CMessage(Structure):
    """Room for a text."""

    _fields_ = (("text", c_void_p), ("capacity", c_size_t))


class CTensor(Structure):
    """A tensor."""

    _fields_ = (
        ("data", c_void_p),
        ("size_bytes", c_size_t),
        ("sizes", c_void_p),
        ("strides", c_void_p),
        ("dim_order", c_void_p),
        ("rank", c_int32),
        ("dtype", c_int32),
    )


class CContent(Union):
    """The content of a value."""

    _fields_ = (
        ("tensor", c_void_p),
        ("integer", c_int64),
        ("number", c_double),
        ("text", c_void_p),
        ("items", c_void_p),
        ("entries", c_void_p),
    )


class CValue(Structure):
    """A value with its kind."""

    _fields_ = (("kind", c_int32), ("reserved", c_int32), ("size", c_size_t), ("content", CContent))


class COption(Structure):
    """A value with a name."""

    _fields_ = (("name", c_void_p), ("value", CValue))


class CCompileSpec(Structure):
    """A compile spec."""

    _fields_ = (("key", c_void_p), ("data", c_void_p), ("size", c_size_t))


class CServices(Structure):
    """The services of the host."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("context", c_void_p),
        ("allocate", c_void_p),
        ("parallel_for", c_void_p),
        ("log", c_void_p),
        ("is_cancelled", c_void_p),
        ("resize_output", c_void_p),
        ("find_data", c_void_p),
        ("release_payload", c_void_p),
    )


class CInit(Structure):
    """The argument of `init`."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("services", c_void_p),
        ("method_name", c_void_p),
        ("instance_name", c_void_p),
        ("delegate_index", c_size_t),
        ("payload", c_void_p),
        ("payload_size", c_size_t),
        ("compile_specs", c_void_p),
        ("compile_spec_count", c_size_t),
        ("options", c_void_p),
        ("option_count", c_size_t),
    )


class CRun(Structure):
    """The argument of `run`."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("services", c_void_p),
        ("values", c_void_p),
        ("value_count", c_size_t),
        ("options", c_void_p),
        ("option_count", c_size_t),
        ("resource", c_void_p),
    )


class CTable(Structure):
    """A backend: its version and its functions."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("abi_major", c_uint32),
        ("abi_minor", c_uint32),
        ("availability", c_void_p),
        ("init", c_void_p),
        ("run", c_void_p),
        ("update", c_void_p),
        ("effective_options", c_void_p),
        ("destroy", c_void_p),
    )


class CHost(Structure):
    """The program that loads a library."""

    _fields_ = (("struct_size", c_size_t), ("abi_major", c_uint32), ("abi_minor", c_uint32))


AvailabilityFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p)
InitFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
RunFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
OptionsFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t, c_void_p)
DestroyFunction = CFUNCTYPE(None, c_void_p)
TaskFunction = CFUNCTYPE(c_int32, c_void_p, c_size_t)

GuardedInitFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
GuardedRunFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
GuardedOptionsFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)
GuardedDestroyFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
GuardedTaskFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t, c_void_p)

AllocateService = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)
ParallelForService = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p)
LogService = CFUNCTYPE(None, c_void_p, c_int32, c_void_p)
CancelService = CFUNCTYPE(c_int32, c_void_p)
ResizeService = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_void_p, c_int32)
FindDataService = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
ReleaseService = CFUNCTYPE(None, c_void_p)
