#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "expression/source.hpp"
#include "kernels/evaluate/rows.hpp"

namespace gridstride::evaluate {

RuntimeSource source_of(expression::Expression const& formula) {
  static std::vector<std::string> const names = [] {
    std::vector<std::string> all = {"x", "y", "z", "t"};
    for (int i = 0; i < Arrays::most; ++i) all.push_back(fmt::format("a[{}]", i));
    return all;
  }();
  std::string text =
      "#include \"expression/operations.hpp\"\n"
      "using Real = double;\n"
      "template <class Values>\n"
      "__device__ __forceinline__ Real formula(Real x, Real y, Real z, Real t, Values const& a) "
      "{\n";
  text += expression::to_cuda(formula, Precision::float64, names);
  text += "}\n#include \"kernels/evaluate/compiled.cuh\"\n";
  // Fused operations round once where the interpreter rounds twice.
  return {.name = "a formula of a field", .text = std::move(text), .options = {"--fmad=false"}};
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
  Points const points = points_of(evaluation.grid);
  if (points.size == 0) return;
  bool const single = precision_of<T>() == Precision::float32;
  evaluation.program->module(stream.device())
      .launch(stream, single ? "compiled_float32" : "compiled_float64",
              {.grid = blocks_for(stream, points), .block = block_threads}, points,
              evaluation.clock, evaluation.fraction, evaluation.result, evaluation.arrays);
}

template void compiled(Stream&, Evaluation<float> const&);
template void compiled(Stream&, Evaluation<double> const&);

}  // namespace cuda
}  // namespace gridstride::evaluate
