#include "kernels/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/adaptive/adaptive.hpp"
#include "kernels/advect/advect.hpp"
#include "kernels/convert/convert.hpp"
#include "kernels/convert/thin.hpp"
#include "kernels/convolve/convolve.hpp"
#include "kernels/cubature/cubature.hpp"
#include "kernels/difference/difference.hpp"
#include "kernels/eigen/eigen.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/factorize/factorize.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/lattice/lattice.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/modes/modes.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/pentadiagonal/pentadiagonal.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/riemann/riemann.hpp"
#include "kernels/sampling/sampling.hpp"
#include "kernels/sampling/vegas/vegas.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/select/select.hpp"
#include "kernels/sort/sort.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/spectrum/spectrum.hpp"
#include "kernels/star/star.hpp"
#include "kernels/stencil/stencil.hpp"
#include "kernels/system/system.hpp"
#include "kernels/transfer/transfer.hpp"
#include "kernels/tridiagonal/tridiagonal.hpp"

namespace gridstride {

namespace {

template <class Variants>
KernelFamily family(std::string_view name, std::string_view summary, Variants const& variants,
                    std::string_view (*default_variant)(Backend)) {
  KernelFamily result{name, summary, {}, default_variant};
  for (auto const& row : variants)
    result.rows.push_back(
        {row.name, row.backend, row.run != nullptr, std::string(row.idea), row.needs});
  return result;
}

/// A family some of whose rows take one type alone, from the table of float64 and that of float32,
/// which name the same rows.
template <class Variants>
KernelFamily both_types(KernelFamily family, Variants const& of_float32) {
  for (std::size_t i = 0; i < family.rows.size(); ++i)
    family.rows[i].in_build = family.rows[i].in_build || of_float32[i].run != nullptr;
  return family;
}

/// A family of several functions, each with a table of its own. Rows of the same name are one to
/// choose, with the ideas of all functions that have it.
KernelFamily of_functions(std::string_view name, std::string_view summary,
                          std::vector<KernelFamily> const& functions) {
  KernelFamily result{name, summary, {}, functions.front().default_variant};
  for (auto const& function : functions)
    for (auto const& row : function.rows) {
      std::string const what = fmt::format(": {}", row.idea);
      auto const known = std::ranges::find_if(result.rows, [&](KernelRow const& other) {
        return other.name == row.name && other.backend == row.backend;
      });
      if (known == result.rows.end()) {
        result.rows.push_back(row);
        result.rows.back().idea = fmt::format("{}{}", function.name, what);
      } else if (known->idea.ends_with(what)) {
        known->idea.insert(known->idea.size() - what.size(), fmt::format(", {}", function.name));
      } else {
        known->idea += fmt::format("; {}{}", function.name, what);
      }
    }
  return result;
}

}  // namespace

std::vector<KernelFamily> const& kernel_families() {
  using namespace quadrature;
  static std::vector<KernelFamily> const families = {
      of_functions("adaptive", "integrals of one variable to a tolerance",
                   {family("gauss_kronrod", "", gauss_kronrod_variants<double>(), default_adaptive),
                    family("tanh_sinh", "", tanh_sinh_variants<double>(), default_adaptive)}),
      family("advect", "explicit steps of advection on a uniform grid", advect::variants<double>(),
             advect::default_variant),
      of_functions(
          "convert", "numbers as files hold them become values, and values such numbers",
          {family("convert", "", convert::variants<double>(), convert::default_variant),
           family("thin", "", convert::thin_variants<double, float>(), convert::default_variant)}),
      family("convolve", "filters along an axis of an array", convolve::variants<double>(),
             convolve::default_variant),
      family("cubature", "integrals of several variables to a tolerance",
             cubature_variants<double>(), default_cubature),
      family("difference", "finite differences along an axis of an array",
             difference::variants<double>(), difference::default_variant),
      family("eigen", "eigenvalues and modes of dense symmetric matrices", eigen::variants(),
             eigen::default_variant),
      family("elementwise", "each output from the inputs at its own place",
             elementwise::variants<double>(), elementwise::default_variant),
      family("evaluate", "a formula at every point of a grid", evaluate::variants<double>(),
             evaluate::default_variant),
      family("factorize", "LU and Cholesky factorizations of dense matrices, and solves with them",
             factorize::variants<double>(), factorize::default_variant),
      family("fft", "Fourier, sine and cosine transforms of any length, and solves between them",
             fft::variants<double>(), fft::default_variant),
      family("histogram", "how many values fall into each bin, or what sum of weights",
             histogram::variants<double>(), histogram::default_variant),
      family("lattice", "products with the matrices of stencils, of which nothing is stored",
             lattice::variants<double>(), lattice::default_variant),
      both_types(family("matmul", "products of dense matrices", matmul::variants<double>(),
                        matmul::default_variant<double>),
                 matmul::variants<float>()),
      family("modes", "fields in the modes of their grid, between two transforms",
             modes::variants<double>(), modes::default_variant),
      family("multigrid", "Poisson's equation by cycles through coarser and coarser grids",
             multigrid::variants<double>(), multigrid::default_variant),
      family("pentadiagonal", "systems of equations with five coefficients in a row",
             pentadiagonal::variants<double>(), pentadiagonal::default_variant),
      family("reduce", "one value of many: sums, extremes, moments", reduce::variants<double>(),
             reduce::default_variant),
      family("riemann", "integrals of one variable by fixed rules", riemann_variants<double>(),
             default_riemann),
      of_functions(
          "sampling", "integrals of any number of variables from random samples",
          {family("monte_carlo", "", monte_carlo_variants<double>(), default_sampler),
           family("quasi_monte_carlo", "", quasi_monte_carlo_variants<double>(), default_sampler),
           family("vegas", "", vegas_variants<double>(), default_sampler)}),
      family("scan", "all prefixes of a sequence", scan::variants<double>(), scan::default_variant),
      family("select", "the values whose flag is set, in order, and their indices",
             select::variants<double>(), select::default_variant),
      family("sort", "ascending order, of keys alone or with values", sort::variants<double>(),
             sort::default_variant),
      family("sparse", "products of sparse matrices with vectors", sparse::variants<double>(),
             sparse::default_variant),
      family("spectrum", "power spectral densities by Welch's method", spectrum::variants<double>(),
             spectrum::default_variant),
      family("star", "leapfrog steps of waves, with differences of order 2 to 8",
             star::variants<double>(), star::default_variant),
      family("stencil", "explicit steps of diffusion on a uniform grid",
             stencil::variants<double>(), stencil::default_variant),
      family("system", "stages of explicit schemes for systems of equations",
             system::variants<double>(), system::default_variant),
      family("transfer", "ways of getting data to the device and back",
             transfer::variants<double>(), transfer::default_variant),
      family("tridiagonal", "systems of equations with three coefficients in a row",
             tridiagonal::variants<double>(), tridiagonal::default_variant),
  };
  return families;
}

std::vector<std::string_view> variant_names(std::string_view family) {
  for (auto const& candidate : kernel_families()) {
    if (candidate.name != family) continue;
    std::vector<std::string_view> names;
    for (auto const& row : candidate.rows)
      if (std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
    return names;
  }
  throw std::invalid_argument("there is no kernel family " + std::string(family));
}

}  // namespace gridstride
