#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "expression/source.hpp"
#include "kernels/evaluate/formulas.hpp"
#include "kernels/evaluate/rows.hpp"

namespace gridstride::evaluate {

RuntimeSource source_of(std::span<Formula const> formulas, int arrays) {
  std::string text =
      "#include \"expression/operations.hpp\"\n"
      "using Real = double;\n";
  std::string calls;
  for (std::size_t k = 0; k < formulas.size(); ++k) {
    std::vector<std::string> names = {"x", "y", "z", "t"};
    for (int const value : formulas[k].from)
      names.push_back(value < arrays ? fmt::format("a[{}]", value)
                                     : fmt::format("static_cast<Real>(r[{}])", value - arrays));
    text += fmt::format(
        "template <class T, class Values>\n"
        "__device__ __forceinline__ Real formula_{}(Real x, Real y, Real z, Real t, Values const& "
        "a, T const* r) {{\n{}}}\n",
        k, expression::to_cuda(formulas[k].expression, Precision::float64, names));
    calls += fmt::format("  r[{0}] = static_cast<T>(formula_{0}<T>(x, y, z, t, a, r));\n", k);
  }
  text += fmt::format(
      "constexpr int formula_count = {};\n"
      "template <class T, class Values>\n"
      "__device__ __forceinline__ void formulas(Real x, Real y, Real z, Real t, Values const& a, "
      "T* r) {{\n{}}}\n"
      "#include \"kernels/evaluate/compiled.cuh\"\n",
      formulas.size(), calls);
  // Fused operations round once where the interpreter rounds twice.
  return {.name = "a formula of a field", .text = std::move(text), .options = {"--fmad=false"}};
}

RuntimeSource source_of(expression::Expression const& formula) {
  Formula alone{formula};
  for (int i = 0; i < Arrays::most; ++i) alone.from.push_back(i);
  return source_of(std::span<Formula const>(&alone, 1), Arrays::most);
}

namespace cuda {

unsigned blocks_for(Stream& stream, Points const& points) {
  std::int64_t const wanted = (points.size + block_threads - 1) / block_threads;
  constexpr std::int64_t blocks_per_processor = 64;
  std::int64_t const most = blocks_per_processor * stream.device().processors();
  return static_cast<unsigned>(std::min(wanted, most));
}

template <class T>
void compiled(Stream& stream, Evaluation<T> const& evaluation) {
  CompiledWork work{.points = points_of(evaluation.grid),
                    .clock = evaluation.clock,
                    .fraction = evaluation.fraction,
                    .arrays = evaluation.arrays};
  work.results.data[0] = evaluation.result;
  launch_compiled<T>(stream, evaluation.program->module(stream.device()), work);
}

template void compiled(Stream&, Evaluation<float> const&);
template void compiled(Stream&, Evaluation<double> const&);

}  // namespace cuda

template <class T>
void launch_compiled(Stream& stream, RuntimeModule const& module, CompiledWork const& work) {
  if (work.points.size == 0) return;
  bool const single = precision_of<T>() == Precision::float32;
  module.launch(stream, single ? "compiled_float32" : "compiled_float64",
                {.grid = cuda::blocks_for(stream, work.points), .block = cuda::block_threads},
                work.points, work.clock, work.fraction, work.results, work.arrays);
}

template void launch_compiled<float>(Stream&, RuntimeModule const&, CompiledWork const&);
template void launch_compiled<double>(Stream&, RuntimeModule const&, CompiledWork const&);

}  // namespace gridstride::evaluate
