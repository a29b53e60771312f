#include "kernels/families.hpp"

#include <stdexcept>
#include <string>

#include "kernels/evaluate/evaluate.hpp"
#include "kernels/stencil/stencil.hpp"

namespace gridstride {

namespace {

template <class Variants>
KernelFamily family(std::string_view name, std::string_view summary, Variants const& variants,
                    std::string_view cpu_default, std::string_view cuda_default) {
  KernelFamily result{name, summary, {}};
  for (auto const& row : variants) {
    auto const chosen = row.backend == Backend::cpu ? cpu_default : cuda_default;
    result.rows.push_back(
        {row.name, row.backend, row.run != nullptr, row.name == chosen, row.idea});
  }
  return result;
}

}  // namespace

std::vector<KernelFamily> const& kernel_families() {
  static std::vector<KernelFamily> const families = {
      family("evaluate", "a formula at every point of a grid", evaluate::variants<double>(),
             evaluate::default_variant(Backend::cpu), evaluate::default_variant(Backend::cuda)),
      family("stencil", "explicit steps of diffusion on a uniform grid",
             stencil::variants<double>(), stencil::default_variant(Backend::cpu),
             stencil::default_variant(Backend::cuda)),
  };
  return families;
}

std::vector<std::string_view> variant_names(std::string_view family) {
  for (auto const& candidate : kernel_families()) {
    if (candidate.name != family) continue;
    std::vector<std::string_view> names;
    for (auto const& row : candidate.rows) names.push_back(row.name);
    return names;
  }
  throw std::invalid_argument("there is no kernel family " + std::string(family));
}

}  // namespace gridstride
