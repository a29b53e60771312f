#pragma once

namespace gridstride {

/// As long as one lives, nothing is compiled nor found among what was, as on a machine without NVRTC:
/// for tests of what is done there.
class WithoutRuntimeCompiler {
 public:
  WithoutRuntimeCompiler();
  ~WithoutRuntimeCompiler();
  WithoutRuntimeCompiler(WithoutRuntimeCompiler const&) = delete;
  WithoutRuntimeCompiler& operator=(WithoutRuntimeCompiler const&) = delete;
};

}  // namespace gridstride
