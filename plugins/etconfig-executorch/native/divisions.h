// Checks of divisors in front of ExecuTorch's kernels for symbolic integers, which divide by zero.
#pragma once

namespace etconfig {

// Call it once, before anything is loaded: methods keep the kernels that they were loaded with.
void check_divisors();

}  // namespace etconfig
