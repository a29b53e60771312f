#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gridstride {

/// The root of everything this project throws on purpose. `main` alone catches it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One fault in a user's input: where it stands and what is wrong.
/// `line` and `column` count from 1; 0 means that the fault has no place in the file
/// (an argument of the command line, a file that is missing).
struct Problem {
  std::string file;
  int line = 0;
  int column = 0;
  std::string path;     ///< the key, as `output.every.time`; empty for the whole file
  std::string message;  ///< what is wrong (why); what was probably meant

  /// `FILE:LINE:COLUMN: path.to.key: message`
  std::string text() const;
};

/// All faults of one configuration, reported together. Exit code 2.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  std::vector<Problem> const& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// A file could not be read or written. Exit code 1.
class IoError : public Error {
 public:
  IoError(std::string const& path, std::string const& message);
};

/// A call into CUDA failed. Exit code 1.
class CudaError : public Error {
 public:
  CudaError(std::string const& call, char const* file, int line, std::string const& reported);
};

/// A computed value left the numbers (NaN, infinity) or a solve cannot go on. Exit code 1.
class NumericalError : public Error {
 public:
  using Error::Error;
  NumericalError(std::string const& what, std::int64_t step, double time, std::string const& field,
                 std::array<std::int64_t, 3> cell);
};

/// A comparison or verification does not hold. Exit code 3.
class VerificationError : public Error {
 public:
  using Error::Error;
};

}  // namespace gridstride
