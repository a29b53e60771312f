#pragma once

#include <string_view>

namespace gridstride {

/// Writes to standard error. What it does not take is dropped: that nobody listens any more is no
/// reason to end a run.
void tell(std::string_view text) noexcept;

/// For the start of a program: where standard input, output or error is closed, puts there what
/// refuses to be read or written, so that no file of a run gets its number.
void occupy_closed_streams() noexcept;

}  // namespace gridstride
