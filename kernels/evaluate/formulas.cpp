#include "kernels/evaluate/formulas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/evaluate/rows.hpp"

namespace gridstride::evaluate {

namespace {

void require(bool condition, std::string const& fault) {
  if (!condition) throw std::invalid_argument("evaluate: " + fault);
}

void check(std::vector<Formula> const& formulas, int arrays) {
  require(!formulas.empty() && std::ssize(formulas) <= Arrays::most && arrays <= Arrays::most,
          fmt::format("{} formulas of {} arrays (1 to {} of at most as many are possible)",
                      formulas.size(), arrays, Arrays::most));
  for (std::size_t k = 0; k < formulas.size(); ++k) {
    auto const& [expression, from] = formulas[k];
    require(!expression.depends_on(expression::time_variable),
            "formulas that are evaluated together depend on t");
    require(expression.variable_count() - expression::first_array <= std::ssize(from),
            fmt::format("formula {} is of more arrays than it is from", k));
    for (int const value : from)
      require(value >= 0 && value < arrays + static_cast<int>(k),
              fmt::format("formula {} is from value {}, which does not come before it", k, value));
  }
}

}  // namespace

Formulas::Formulas(Stream& stream, std::vector<Formula> formulas, int arrays,
                   std::string_view variant)
    : formulas_(std::move(formulas)), arrays_(arrays), variant_(variant) {
  check(formulas_, arrays);
  bool const on_gpu = stream.backend() == Backend::cuda;
  if (variant == "auto") variant_ = on_gpu ? "compiled" : default_variant(stream.backend());
  std::string_view alone = variant_;
  if (variant_ == "compiled") {
    alone = default_variant(Backend::cuda);
    try {
      module_ = compile(stream.device(), source_of(formulas_, arrays_));
    } catch (RuntimeCompilerMissing const& missing) {
      if (variant != "auto") throw;
      variant_ = alone;
      fallback_ = fallback_text(missing);
    }
  }
  for (auto const& formula : formulas_) programs_.emplace_back(stream, formula.expression, alone);
}

template <class T>
void evaluate(Stream& stream, Formulas const& formulas, Grid const& grid,
              std::span<T* const> results, std::span<ArrayView const> arrays) {
  require(results.size() == formulas.count() && std::ssize(arrays) == formulas.arrays(),
          fmt::format("{} results and {} arrays are given, {} and {} are needed", results.size(),
                      arrays.size(), formulas.count(), formulas.arrays()));
  std::vector<ArrayView> values(arrays.begin(), arrays.end());
  for (T* const result : results) values.push_back({result, precision_of<T>()});
  for (std::size_t k = 0; k < formulas.count(); ++k)
    for (int const value : formulas.formula(k).from)
      require(results[k] == nullptr || values[static_cast<std::size_t>(value)].data != nullptr,
              fmt::format("formula {} needs value {}, which is null", k, value));
  bool const all = std::ranges::find(results, nullptr) == results.end();
  if (formulas.module() != nullptr && all) {
    CompiledWork work{.points = points_of(grid)};
    std::ranges::copy(results, work.results.data);
    work.arrays = arrays_of(arrays);
    return launch_compiled<T>(stream, *formulas.module(), work);
  }
  auto const size = static_cast<std::size_t>(grid.size());
  for (std::size_t k = 0; k < formulas.count(); ++k) {
    if (results[k] == nullptr) continue;
    std::vector<ArrayView> own;
    for (int const value : formulas.formula(k).from)
      own.push_back(values[static_cast<std::size_t>(value)]);
    evaluate<T>(stream, formulas.program(k), grid, nullptr, 0, {results[k], size}, own);
  }
}

template void evaluate(Stream&, Formulas const&, Grid const&, std::span<float* const>,
                       std::span<ArrayView const>);
template void evaluate(Stream&, Formulas const&, Grid const&, std::span<double* const>,
                       std::span<ArrayView const>);

}  // namespace gridstride::evaluate
