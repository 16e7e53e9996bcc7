// Text from the runtime, which may contain bytes of a damaged program.
#pragma once

#include <string>
#include <string_view>

namespace etconfig {

// Return the text as valid UTF-8 without control characters: these, and bytes that are no UTF-8, become escapes,
// such as \x1b. The result can be given to Python and printed.
std::string readable(std::string_view text);

}  // namespace etconfig
