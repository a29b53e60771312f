// `blocks`: each pass of the work, along an axis, is one kernel that reads and writes every number
// once (blocks.cuh), made for the kind and length of its lines. Complex lines that no block can hold
// take several (cuda_long.cpp); such lines of reals go by `stages`.

#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/rows.hpp"

namespace gridstride::fft {

namespace {

template <class T>
void run_pass(Stream& stream, Pass<T> const& pass) {
  auto const work = work_of(pass);
  auto const how = launch_of(pass, work);
  if (launch_columns(stream, work, how) || launch(stream, work, how)) return;
  if (how.kind == LineKind::complex && launch_long(stream, work, how)) return;
  run_stages(stream, pass);
}

}  // namespace

template <class T>
void cuda_blocks(Stream& stream, Arguments<T> const& arguments) {
  auto const passes = passes_of(arguments);
  for (std::size_t p = 0; p < passes.size(); ++p) {
    if (p + 1 < passes.size() && launch_planes(stream, passes[p], passes[p + 1]))
      ++p;
    else
      run_pass(stream, passes[p]);
  }
}

template void cuda_blocks(Stream&, Arguments<float> const&);
template void cuda_blocks(Stream&, Arguments<double> const&);

}  // namespace gridstride::fft
