#pragma once

#include <string>

namespace gridstride {

struct NamedValue {
  std::string name;
  double value;
};

struct NamedText {
  std::string name;
  std::string text;
};

}  // namespace gridstride
