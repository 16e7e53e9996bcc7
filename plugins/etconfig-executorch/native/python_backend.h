// Backends written in Python, inside the runtime's registry.
#pragma once

#include "errors.h"

namespace etconfig {

// Raise the Python exception of a Python backend in this thread, if there is one.
void raise_pending_exception();

void bind_python_backend(nb::module_& module);

}  // namespace etconfig
