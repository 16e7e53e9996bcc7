// Checks in front of the kernels that trust their arguments.
#pragma once

namespace etconfig {

// Puts a check in front of each registered kernel of the table in kernel_guards.cpp, once. To be called before a method is
// loaded: libraries register more kernels.
void guard_kernels();

}  // namespace etconfig
