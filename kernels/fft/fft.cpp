#include "kernels/fft/fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "kernels/fft/passes.hpp"
#include "kernels/fft/rows.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/runtime_compiler.hpp"

namespace gridstride::fft {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "each coefficient's sum as it is defined, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "Stockham's steps of radix 4, 2, 3, 5 and 7, lines side by side in vectors; Bluestein's "
       "convolution for other lengths"},
      {"stages", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_stages<T>),
       "a step through memory for each factor, a thread for each butterfly"},
      {"blocks", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_blocks<T>),
       "a line stays on the chip, in kernels that are compiled for its length; one pass through "
       "memory for each axis"},
      {"cufft", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cufft<T>),
       "cuFFT, to compare with: Fourier transforms of arrays without gaps, and a kernel between "
       "them to solve"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  if (backend == Backend::cpu) return "threads";
  return has_runtime_compiler() ? "blocks" : "stages";
}

Strides dense(std::array<std::int64_t, 3> const& points) {
  return {{1, points[0], points[0] * points[1]}, points[0] * points[1] * points[2]};
}

Shape dense(std::array<std::int64_t, 3> const& points, std::array<Kind, 3> const& kinds,
            std::int64_t batch) {
  return {points, kinds, batch, dense(points), dense(points)};
}

std::int64_t period_of(Kind kind, std::int64_t points) {
  switch (kind) {
    case Kind::none:
      return 1;
    case Kind::complex:
    case Kind::periodic:
      return points;
    case Kind::dirichlet_dirichlet:
      return 2 * (points + 1);
    case Kind::neumann_neumann:
      return 2 * (points - 1);
    case Kind::dirichlet_neumann:
    case Kind::neumann_dirichlet:
      return 2 * points;
  }
  throw std::invalid_argument("fft: unknown kind");
}

LineKind line_kind(Kind kind) {
  switch (kind) {
    case Kind::periodic:
      return LineKind::periodic;
    case Kind::dirichlet_dirichlet:
      return LineKind::sine;
    case Kind::neumann_neumann:
      return LineKind::cosine;
    case Kind::dirichlet_neumann:
      return LineKind::quarter_sine;
    case Kind::neumann_dirichlet:
      return LineKind::quarter_cosine;
    case Kind::none:
    case Kind::complex:
      break;
  }
  return LineKind::complex;
}

double round_trip(Shape const& shape) {
  double product = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    product *= static_cast<double>(period_of(shape.kinds[axis], shape.points[axis]));
  return product;
}

std::vector<double> angles(Kind kind, std::int64_t points) {
  std::vector<double> result;
  auto const period = static_cast<double>(period_of(kind, points));
  bool const is_wave = kind == Kind::periodic || kind == Kind::complex;
  for (std::int64_t k = 0; k < points; ++k) {
    double number = 0;
    if (is_wave) number = static_cast<double>(std::min(k, points - k));
    if (kind == Kind::dirichlet_dirichlet) number = static_cast<double>(k + 1);
    if (kind == Kind::neumann_neumann) number = static_cast<double>(k);
    if (kind == Kind::dirichlet_neumann || kind == Kind::neumann_dirichlet)
      number = static_cast<double>(2 * k + 1) / 2;
    result.push_back(2 * std::numbers::pi * number / period);
  }
  return result;
}

namespace {

/// Elements that an array has to have.
std::int64_t extent(std::array<std::int64_t, 3> const& points, std::int64_t batch,
                    Strides const& strides) {
  std::int64_t last = (batch - 1) * strides.batch;
  for (std::size_t axis = 0; axis < 3; ++axis) last += (points[axis] - 1) * strides.axes[axis];
  return last + 1;
}

/// The points of the side that holds n/2 + 1 complex numbers for n reals.
std::array<std::int64_t, 3> halved(Shape const& shape) {
  auto points = shape.points;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (shape.kinds[axis] == Kind::periodic) points[axis] = points[axis] / 2 + 1;
  return points;
}

void require_kinds(Shape const& shape, Form form) {
  int complex = 0, periodic = 0, real = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Kind const kind = shape.kinds[axis];
    complex += kind == Kind::complex;
    periodic += kind == Kind::periodic;
    real += kind != Kind::complex && kind != Kind::none;
    if (kind == Kind::neumann_neumann && shape.points[axis] == 1)
      throw std::invalid_argument("fft: an axis between two Neumann sides needs two points");
  }
  bool const both = form == Form::real_to_complex || form == Form::complex_to_real;
  if (both && (periodic != 1 || real != 1))
    throw std::invalid_argument(
        "fft: reals to complex numbers need one periodic axis, the others complex or none");
  if (form == Form::complex && real > 0)
    throw std::invalid_argument("fft: complex numbers have axes of kind complex or none");
  if ((form == Form::real || form == Form::solve) && complex > 0)
    throw std::invalid_argument("fft: reals have no axes of kind complex");
  if (complex + real == 0) throw std::invalid_argument("fft: no axis to transform");
}

void require_strides(std::string_view name, std::array<std::int64_t, 3> const& points,
                     std::int64_t batch, Strides const& strides) {
  std::array<std::pair<std::int64_t, std::int64_t>, 4> axes = {{{strides.batch, batch},
                                                                {strides.axes[0], points[0]},
                                                                {strides.axes[1], points[1]},
                                                                {strides.axes[2], points[2]}}};
  std::ranges::sort(axes);
  std::int64_t reach = 1;
  for (auto const& [stride, count] : axes) {
    if (count <= 1) continue;
    if (stride < reach)
      throw std::invalid_argument(
          fmt::format("fft: a stride of {} lets elements of {} share memory (it must be at least "
                      "{})",
                      stride, name, reach));
    reach += (count - 1) * stride;
  }
}

void require_extent(NamedBytes const& array, std::int64_t least) {
  if (array.size < static_cast<std::size_t>(least))
    throw std::invalid_argument(
        fmt::format("fft: {} has {} elements, it needs {}", array.name, array.size, least));
}

bool same(Strides const& a, Strides const& b) { return a.axes == b.axes && a.batch == b.batch; }

/// What both arrays hold, in their own elements.
template <class In, class Out>
void require(Shape const& shape, Form form, std::span<In> in, std::span<Out> out) {
  for (auto const count : {shape.points[0], shape.points[1], shape.points[2], shape.batch})
    if (count < 0) throw std::invalid_argument("fft: sizes cannot be negative");
  if (shape.size() == 0) return;
  require_kinds(shape, form);
  auto const of_in = form == Form::complex_to_real ? halved(shape) : shape.points;
  auto const of_out = form == Form::real_to_complex ? halved(shape) : shape.points;
  require_strides("in", of_in, shape.batch, shape.in);
  require_strides("out", of_out, shape.batch, shape.out);
  auto const from = named("in", in), to = named("out", out);
  require_extent(from, extent(of_in, shape.batch, shape.in));
  require_extent(to, extent(of_out, shape.batch, shape.out));
  if (from.begin != to.begin || sizeof(In) != sizeof(Out)) return require_disjoint("fft", from, to);
  if (!same(shape.in, shape.out))
    throw std::invalid_argument("fft: in place, in and out need the same strides");
}

template <class T>
void run(Stream& stream, Arguments<T> const& work, std::string_view variant) {
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("fft", variants<T>(), stream.device(), variant);
  if (work.shape.size() > 0) row.run(stream, work);
}

template <class T>
T* parts(std::span<std::complex<T> const> numbers) {
  return const_cast<T*>(reinterpret_cast<T const*>(numbers.data()));
}

}  // namespace

template <class T>
void transform(Stream& stream, Shape const& shape, Direction direction,
               std::type_identity_t<std::span<std::complex<T> const>> in,
               std::span<std::complex<T>> out, std::string_view variant) {
  require(shape, Form::complex, in, out);
  run<T>(stream, {shape, Form::complex, direction, parts<T>(in), parts<T>(out), {}}, variant);
}

template <class T>
void transform(Stream& stream, Shape const& shape, Direction direction,
               std::type_identity_t<std::span<T const>> in, std::span<T> out,
               std::string_view variant) {
  require(shape, Form::real, in, out);
  run<T>(stream, {shape, Form::real, direction, const_cast<T*>(in.data()), out.data(), {}},
         variant);
}

template <class T>
void transform(Stream& stream, Shape const& shape, std::type_identity_t<std::span<T const>> in,
               std::span<std::complex<T>> out, std::string_view variant) {
  require(shape, Form::real_to_complex, in, out);
  run<T>(stream,
         {shape,
          Form::real_to_complex,
          Direction::forward,
          const_cast<T*>(in.data()),
          parts<T>(out),
          {}},
         variant);
}

template <class T>
void transform(Stream& stream, Shape const& shape, std::span<std::complex<T>> in, std::span<T> out,
               std::string_view variant) {
  require(shape, Form::complex_to_real, in, out);
  run<T>(stream, {shape, Form::complex_to_real, Direction::inverse, parts<T>(in), out.data(), {}},
         variant);
}

template <class T>
void solve(Stream& stream, Shape const& shape, Eigenvalues<T> const& eigenvalues,
           std::type_identity_t<std::span<T const>> in, std::span<T> out,
           std::string_view variant) {
  require(shape, Form::solve, in, out);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    auto const values = named("eigenvalues", eigenvalues.axes[axis]);
    if (values.size > 0) require_size("fft", values, static_cast<std::size_t>(shape.points[axis]));
    require_disjoint("fft", values, named("out", out));
  }
  run<T>(
      stream,
      {shape, Form::solve, Direction::forward, const_cast<T*>(in.data()), out.data(), eigenvalues},
      variant);
}

// ---------------------------------------------------------------------------------------- passes

namespace {

/// What a pass sees of the arrays between which it goes.
template <class T>
struct Side {
  T* data;
  Strides strides;
};

template <class T>
class Planner {
 public:
  explicit Planner(Arguments<T> const& work)
      : work_(work), points_(work.shape.points), now_{work.in, work.shape.in} {}

  std::vector<Pass<T>> passes() {
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (work_.shape.kinds[axis] != Kind::none) axes.push_back(axis);
    switch (work_.form) {
      case Form::complex:
      case Form::real:
        for (auto const axis : axes) add(axis, task_of(work_.direction));
        break;
      case Form::real_to_complex:
        halve(axes);
        break;
      case Form::complex_to_real:
        complete(axes);
        break;
      case Form::solve:
        solve(axes);
        break;
    }
    return std::move(passes_);
  }

 private:
  static Task task_of(Direction direction) {
    return direction == Direction::forward ? Task::forward : Task::inverse;
  }
  Side<T> out() const { return {work_.out, work_.shape.out}; }

  void add(std::size_t axis, Task task) { add(axis, task, out()); }

  void add(std::size_t axis, Task task, Side<T> const& to) {
    Pass<T> pass{.task = task,
                 .kind = work_.shape.kinds[axis],
                 .axis = axis,
                 .points = work_.shape.points[axis],
                 .in = now_.data,
                 .out = to.data,
                 .in_stride = now_.strides.axes[axis],
                 .out_stride = to.strides.axes[axis],
                 .counts = {1, 1, work_.shape.batch},
                 .in_strides = {0, 0, now_.strides.batch},
                 .out_strides = {0, 0, to.strides.batch}};
    std::size_t other = 0;
    for (std::size_t across = 0; across < 3; ++across) {
      if (across == axis) continue;
      pass.counts[other] = points_[across];
      pass.in_strides[other] = now_.strides.axes[across];
      pass.out_strides[other++] = to.strides.axes[across];
    }
    passes_.push_back(pass);
    now_ = to;
  }

  std::size_t periodic_axis() const {
    return static_cast<std::size_t>(std::ranges::find(work_.shape.kinds, Kind::periodic) -
                                    work_.shape.kinds.begin());
  }

  void halve(std::vector<std::size_t> const& axes) {
    std::size_t const axis = periodic_axis();
    add(axis, Task::halve);
    points_ = halved(work_.shape);
    for (auto const other : axes)
      if (other != axis) add(other, Task::forward);
  }
  void complete(std::vector<std::size_t> const& axes) {
    std::size_t const axis = periodic_axis();
    points_ = halved(work_.shape);
    for (auto const other : axes)
      if (other != axis) add(other, Task::inverse, now_);
    points_ = work_.shape.points;
    add(axis, Task::complete);
  }
  void solve(std::vector<std::size_t> const& axes) {
    auto const last = axes.size() - 1;
    for (std::size_t a = 0; a < last; ++a) add(axes[a], Task::forward);
    add(axes[last], Task::solve);
    auto& pass = passes_.back();
    auto const values = [&](std::size_t axis) {
      auto const& given = work_.eigenvalues.axes[axis];
      return given.empty() ? nullptr : given.data();
    };
    pass.along = values(axes[last]);
    std::size_t other = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (axis != axes[last]) pass.across[other++] = values(axis);
    pass.constant = work_.eigenvalues.constant;
    pass.scale = static_cast<T>(1 / (round_trip(work_.shape) * work_.eigenvalues.round_trip));
    for (std::size_t a = 0; a < last; ++a) add(axes[a], Task::inverse);
  }

  Arguments<T> const& work_;
  std::array<std::int64_t, 3> points_;
  Side<T> now_;
  std::vector<Pass<T>> passes_;
};

}  // namespace

template <class T>
std::vector<Pass<T>> passes_of(Arguments<T> const& work) {
  return Planner<T>(work).passes();
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                \
  template std::span<Variant<Function<T>> const> variants<T>();                                  \
  template std::vector<Pass<T>> passes_of(Arguments<T> const&);                                  \
  template void transform<T>(Stream&, Shape const&, Direction, std::span<std::complex<T> const>, \
                             std::span<std::complex<T>>, std::string_view);                      \
  template void transform<T>(Stream&, Shape const&, Direction, std::span<T const>, std::span<T>, \
                             std::string_view);                                                  \
  template void transform<T>(Stream&, Shape const&, std::span<T const>,                          \
                             std::span<std::complex<T>>, std::string_view);                      \
  template void transform<T>(Stream&, Shape const&, std::span<std::complex<T>>, std::span<T>,    \
                             std::string_view);                                                  \
  template void solve(Stream&, Shape const&, Eigenvalues<T> const&, std::span<T const>,          \
                      std::span<T>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
