#include "io/xml.hpp"

#include <fmt/format.h>

namespace gridstride::io {

std::string xml_escaped(std::string_view text) {
  std::string safe;
  for (char const letter : text) {
    switch (letter) {
      case '\t':
      case '\n':
      case '\r':
        safe += fmt::format("&#{};", static_cast<int>(letter));
        break;
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

}  // namespace gridstride::io
