#include "core/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

namespace gridstride {

namespace {

struct Architecture {
  int capability = 0;
  bool alone = false;       // features of one chip: no other runs it
  bool real = false;        // machine code
  bool translated = false;  // code that the driver translates

  explicit Architecture(std::string_view name) {
    auto const digits = std::from_chars(name.data(), name.data() + name.size(), capability).ptr;
    std::string_view const kind = name.substr(static_cast<std::size_t>(digits - name.data()));
    alone = kind.starts_with('a');
    real = !kind.ends_with("-virtual");
    translated = !kind.ends_with("-real");
  }

  bool runs_on(int device) const {
    if (alone) return device == capability;
    bool const same_generation = device / 10 == capability / 10;
    return device >= capability && (translated || (real && same_generation));
  }

  std::string name() const {
    return fmt::format("{}.{}{}", capability / 10, capability % 10, translated ? " and later" : "");
  }
};

std::vector<Architecture> parse(std::string_view architectures) {
  std::istringstream words{std::string(architectures)};
  std::vector<Architecture> all;
  for (std::string word; words >> word;) all.emplace_back(word);
  return all;
}

}  // namespace

std::string_view built_architectures() { return GRIDSTRIDE_ARCHITECTURES; }

bool has_code_for(std::string_view architectures, int compute_capability) {
  return std::ranges::any_of(parse(architectures), [=](Architecture const& architecture) {
    return architecture.runs_on(compute_capability);
  });
}

std::string missing_code(std::string_view architectures, std::string_view gpu,
                         int compute_capability) {
  if (has_code_for(architectures, compute_capability)) return {};
  std::string has;
  for (Architecture const& architecture : parse(architectures))
    has += (has.empty() ? "" : ", ") + architecture.name();
  return fmt::format(
      "{} has compute capability {}.{}, this program has code for {}; build it with `cmake "
      "--preset cuda -DCMAKE_CUDA_ARCHITECTURES={}-real && cmake --build build/cuda`",
      gpu, compute_capability / 10, compute_capability % 10, has,
      compute_capability == 90 ? "90a" : std::to_string(compute_capability));
}

}  // namespace gridstride
