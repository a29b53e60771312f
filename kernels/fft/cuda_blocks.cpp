// `blocks`: each pass of the work, along an axis, is one kernel that reads and writes every number
// once (blocks.cuh), made for the kind and length of its lines. Complex lines that no block can hold
// take several, and so do those side by side of which it can hold but few (cuda_long.cpp); such lines
// of reals go by `stages`.

#include "kernels/fft/cuda_launch.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/rows.hpp"

namespace gridstride::fft {

namespace {

/// Whether blocks have lines that are less than 64 bytes wide, each row of which costs as much.
template <class T>
bool is_narrow(Stream& stream, Launch const& how) {
  return how.points > 1024 && width_of<T>(stream, how) < 64;
}

template <class T>
void run_pass(Stream& stream, Pass<T> const& pass) {
  auto const work = work_of(pass);
  Launch const how{.task = pass.task,
                   .kind = line_kind(pass.kind),
                   .points = pass.points,
                   .neighbours = work.in_stride > (work.counts[0] > 1 ? work.in_strides[0] : 1)};
  if (how.kind == LineKind::complex && how.neighbours && is_narrow<T>(stream, how) &&
      launch_stripes(stream, work, how))
    return;
  if (launch(stream, work, how)) return;
  if (how.kind == LineKind::complex && launch_long(stream, work, how)) return;
  run_stages(stream, pass);
}

}  // namespace

template <class T>
void cuda_blocks(Stream& stream, Arguments<T> const& arguments) {
  for (auto const& pass : passes_of(arguments)) run_pass(stream, pass);
}

template void cuda_blocks(Stream&, Arguments<float> const&);
template void cuda_blocks(Stream&, Arguments<double> const&);

}  // namespace gridstride::fft
