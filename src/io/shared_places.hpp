#pragma once

#include <memory>

#include "core/field_sink.hpp"

namespace gridstride::io {

/// Puts bytes of a field where another process of this machine has its file, which that one completes.
/// Throws `IoError` where there is no such file, or another one of its name.
std::unique_ptr<FieldSink> open_places(FilePlaces const& places);

}  // namespace gridstride::io
