#pragma once

#include <string>
#include <type_traits>

namespace gridstride {

/// A shared library of a vendor, which rows of a ladder call without being linked to it: the
/// program starts without its cost, and runs where it is missing. Opened by the constructor, for
/// the rest of the program: keep it as a `static` of the function that needs it first.
class VendorLibrary {
 public:
  /// `soname` as the loader knows it, `libcublas.so.13`; it is also looked for where the CUDA
  /// toolkit is usually installed.
  explicit VendorLibrary(std::string soname);

  bool available() const { return handle_ != nullptr; }
  /// Why it cannot be used: what the loader said. Empty when it can.
  std::string const& reason() const { return reason_; }

  /// The file that it was opened from.
  std::string file() const;
  /// The function called `name`, as of `function<decltype(cublasCreate)>("cublasCreate_v2")`.
  /// Throws `Error` when the library, or the function in it, is missing.
  template <class Signature>
  Signature* function(char const* name) const {
    static_assert(std::is_function_v<Signature>);
    return reinterpret_cast<Signature*>(find(name));
  }

 private:
  void* find(char const* name) const;

  std::string soname_;
  void* handle_ = nullptr;
  std::string reason_;
};

}  // namespace gridstride
