// Backends written in Python, inside the runtime's registry.
#pragma once

#include "errors.h"

namespace etconfig {

// Keep the exception of a Python callback until `raise_pending_exception`, in the same thread, and return the error for
// the runtime. Requires the GIL.
rt::Error keep_pending_exception(nb::python_error& error);

// Raise the exception that this thread keeps, if there is one.
void raise_pending_exception();

void bind_python_backend(nb::module_& module);

}  // namespace etconfig
