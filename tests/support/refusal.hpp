#pragma once

#include <stdexcept>
#include <string>

namespace gridstride::test {

/// What the `std::invalid_argument` says that `body` throws; "nothing" when it throws none.
template <class Body>
std::string refusal(Body const& body) {
  try {
    body();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace gridstride::test
