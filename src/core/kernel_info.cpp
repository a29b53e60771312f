#include "core/kernel_info.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/gpu.hpp"

namespace gridstride {

std::vector<KernelInfo> captured_kernels(Stream& stream, std::function<void()> const& work) {
  std::vector<KernelInfo> kernels;
  for (auto const& launched : gpu::captured_kernels(stream.native(), work)) {
    auto const known = std::ranges::find_if(kernels, [&](KernelInfo const& kernel) {
      KernelInfo same = kernel;
      same.launches = launched.launches;
      return same == launched;
    });
    if (known == kernels.end())
      kernels.push_back(launched);
    else
      known->launches += launched.launches;
  }
  return kernels;
}

std::string short_kernel_name(char const* name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const demangled(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  std::string const text = demangled ? demangled.get() : name;
  static constexpr std::string_view anonymous = "(anonymous namespace)";
  std::string last;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, anonymous.size(), anonymous) == 0) {
      i += anonymous.size() - 1;
    } else if (text[i] == '<') {
      ++depth;
    } else if (text[i] == '>') {
      --depth;
    } else if (depth == 0) {
      if (text[i] == '(') break;
      if (text[i] == ' ' || text[i] == ':')
        last.clear();
      else
        last += text[i];
    }
  }
  return last;
}

}  // namespace gridstride
