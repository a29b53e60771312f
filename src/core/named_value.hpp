#pragma once

#include <string>

namespace gridstride {

struct NamedValue {
  std::string name;
  double value;
  int digits = 4;  ///< that a summary shows
};

struct NamedText {
  std::string name;
  std::string text;
};

}  // namespace gridstride
