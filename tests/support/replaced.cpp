#include "support/replaced.hpp"

#include <regex>

namespace gridstride::test {

std::string replaced(std::string const& text, std::string const& expression,
                     std::string const& replacement) {
  return std::regex_replace(text, std::regex(expression), replacement);
}

}  // namespace gridstride::test
