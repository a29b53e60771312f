#pragma once

#include <string>

namespace gridstride::test {

/// `text` with all that the regular expression finds replaced, as by std::regex_replace, which one file
/// compiles in the place of all that use it.
std::string replaced(std::string const& text, std::string const& expression,
                     std::string const& replacement);

}  // namespace gridstride::test
