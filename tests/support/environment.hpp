#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace gridstride::test {

/// A variable of the environment that is as it was when the test ends.
class KeptVariable {
 public:
  explicit KeptVariable(char const* name) : name_(name) {
    if (char const* const value = std::getenv(name)) before_ = value;
  }
  KeptVariable(KeptVariable const&) = delete;
  KeptVariable& operator=(KeptVariable const&) = delete;
  ~KeptVariable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  char const* name_;
  std::optional<std::string> before_;
};

}  // namespace gridstride::test
