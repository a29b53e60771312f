#pragma once

#include <string>
#include <string_view>

namespace gridstride::io {

/// As the value of an attribute, which readers turn blanks other than spaces into spaces in, or as
/// the text of an element.
std::string xml_escaped(std::string_view text);

}  // namespace gridstride::io
