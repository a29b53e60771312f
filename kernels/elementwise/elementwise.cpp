#include "kernels/elementwise/elementwise.hpp"

#include <limits>
#include <type_traits>

#include "kernels/elementwise/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::elementwise {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "every element in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "contiguous pieces shared among threads; loops that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>), "one thread per element"},
      {"grid_stride", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_grid_stride<T>),
       "a grid that just fills the GPU; each thread takes many elements"},
      {"vectorized", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_vectorized<T>),
       "16-byte loads and stores, several of them in flight per thread"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "vectorized";
}

namespace {

template <class T>
void run(Stream& stream, Arguments<T> const& arguments, std::string_view variant) {
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("elementwise", variants<T>(), stream.device(), variant);
  if (arguments.size > 0) row.run(stream, arguments);
}

template <class T>
std::int64_t length(std::span<T> values) {
  return static_cast<std::int64_t>(values.size());
}

/// The memory from a matrix's first element to its last.
template <class T>
NamedBytes extent(std::string_view name, Matrix<T> const& m) {
  bool const empty = m.rows == 0 || m.columns == 0;
  std::int64_t const size = empty ? 0 : (m.rows - 1) * m.stride + m.columns;
  return named(name, std::span(m.data, static_cast<std::size_t>(size)));
}

template <class T>
void require_matrix(std::string_view name, Matrix<T> const& m) {
  auto const refuse = [&](std::string_view fault) {
    throw std::invalid_argument(fmt::format("elementwise::matrix_add: {} has {} x {} elements {}",
                                            name, m.rows, m.columns, fault));
  };
  if (m.rows < 0 || m.columns < 0) refuse("(neither may be negative)");
  if (m.stride < m.columns)
    refuse(fmt::format("and a stride of {} (rows would overlap)", m.stride));
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / std::int64_t{sizeof(T)};
  if (m.stride > 0 && m.rows > most / m.stride)
    refuse(fmt::format("and a stride of {} (beyond any memory)", m.stride));
  if (m.data == nullptr && m.rows > 0 && m.columns > 0) refuse("and no data");
}

/// Whether the matrices lie side by side in the same rows of a wider one.
template <class T>
bool are_side_by_side(Matrix<T const> const& a, Matrix<T> const& b) {
  if (a.stride != b.stride || a.stride == 0) return false;
  auto const bytes = static_cast<std::int64_t>(sizeof(T)) * a.stride;
  std::int64_t const distance =
      reinterpret_cast<std::intptr_t>(b.data) - reinterpret_cast<std::intptr_t>(a.data);
  std::int64_t const column = (distance % bytes + bytes) % bytes / std::int64_t{sizeof(T)};
  return column >= a.columns && column + b.columns <= a.stride;
}

/// The shape and the place of an input of `matrix_add`, against its output's.
template <class T>
void require_input(std::string_view name, Matrix<T const> const& input, Matrix<T> const& output) {
  require_matrix(name, input);
  if (input.rows != output.rows || input.columns != output.columns)
    throw std::invalid_argument(fmt::format(
        "elementwise::matrix_add: {} has {} x {} elements and c has {} x {} (they must agree)",
        name, input.rows, input.columns, output.rows, output.columns));
  bool const same = input.data == output.data && input.stride == output.stride;
  if (!same && !are_side_by_side(input, output))
    require_disjoint("elementwise::matrix_add", extent(name, input), extent("c", output));
}

}  // namespace

template <class T>
void add(Stream& stream, std::span<T const> x, std::span<T const> y, std::span<T> z,
         std::string_view variant) {
  constexpr std::string_view function = "elementwise::add";
  require_same_size(function, named("x", x), named("z", z));
  require_same_size(function, named("y", y), named("z", z));
  require_disjoint_or_same(function, named("x", x), named("z", z));
  require_disjoint_or_same(function, named("y", y), named("z", z));
  Arguments<T> a;
  a.operation = Operation::add;
  a.x = x.data();
  a.y = y.data();
  a.output = z.data();
  a.size = length(z);
  run(stream, a, variant);
}

template <class T>
void axpy(Stream& stream, T factor, std::span<T const> x, std::span<T> y,
          std::string_view variant) {
  require_same_size("elementwise::axpy", named("x", x), named("y", y));
  require_disjoint_or_same("elementwise::axpy", named("x", x), named("y", y));
  Arguments<T> a;
  a.operation = Operation::axpy;
  a.scalar = factor;
  a.x = x.data();
  a.y = y.data();
  a.output = y.data();
  a.size = length(y);
  run(stream, a, variant);
}

template <class T>
void scale(Stream& stream, T factor, std::span<T> x, std::string_view variant) {
  Arguments<T> a;
  a.operation = Operation::scale;
  a.scalar = factor;
  a.x = x.data();
  a.output = x.data();
  a.size = length(x);
  run(stream, a, variant);
}

template <class T>
void fill(Stream& stream, T value, std::span<T> x, std::string_view variant) {
  Arguments<T> a;
  a.operation = Operation::fill;
  a.scalar = value;
  a.output = x.data();
  a.size = length(x);
  run(stream, a, variant);
}

template <class T>
void matrix_add(Stream& stream, Matrix<T const> const& a, Matrix<T const> const& b,
                Matrix<T> const& c, std::string_view variant) {
  require_matrix("c", c);
  require_input("a", a, c);
  require_input("b", b, c);
  Arguments<T> arguments;
  arguments.operation = Operation::matrix_add;
  arguments.x = a.data;
  arguments.y = b.data;
  arguments.output = c.data;
  arguments.size = c.rows * c.columns;
  arguments.rows = c.rows;
  arguments.columns = c.columns;
  arguments.strides = {a.stride, b.stride, c.stride};
  run(stream, arguments, variant);
}

template <class T>
void dot3(Stream& stream, std::span<T const> a, std::span<T const> b, std::span<T> c,
          std::string_view variant) {
  constexpr std::string_view function = "elementwise::dot3";
  require_size(function, named("a", a), 3 * c.size());
  require_size(function, named("b", b), 3 * c.size());
  require_disjoint(function, named("a", a), named("c", c));
  require_disjoint(function, named("b", b), named("c", c));
  Arguments<T> arguments;
  arguments.operation = Operation::dot3;
  arguments.x = a.data();
  arguments.y = b.data();
  arguments.output = c.data();
  arguments.size = length(c);
  run(stream, arguments, variant);
}

template <class T>
void gather(Stream& stream, std::span<T const> x, std::span<std::int64_t const> index,
            std::span<T> output, std::string_view variant) {
  constexpr std::string_view function = "elementwise::gather";
  require_same_size(function, named("index", index), named("output", output));
  require_disjoint(function, named("x", x), named("output", output));
  require_disjoint(function, named("index", index), named("output", output));
  Arguments<T> a;
  a.operation = Operation::gather;
  a.x = x.data();
  a.index = index.data();
  a.output = output.data();
  a.size = length(output);
  run(stream, a, variant);
}

namespace {

/// The work on vectors of n components, of which x holds those from one on.
template <class T>
void run_on_vectors(Stream& stream, std::string_view function, Operation operation,
                    std::span<T const> x, int n, int first, std::span<T> output,
                    std::string_view variant) {
  if (n < 1 || first < 0 || first >= n)
    throw std::invalid_argument(
        fmt::format("{}: there is no component {} of {}", function, first, n));
  require_size(function, named("x", x), static_cast<std::size_t>(n) * output.size());
  require_disjoint(function, named("x", x), named("output", output));
  Arguments<T> a;
  a.operation = operation;
  a.x = x.data() + first;
  a.output = output.data();
  a.size = length(output);
  a.strides[0] = n;
  run(stream, a, variant);
}

}  // namespace

template <class T>
void component(Stream& stream, std::span<T const> x, int n, int number, std::span<T> output,
               std::string_view variant) {
  run_on_vectors(stream, "elementwise::component", Operation::component, x, n, number, output,
                 variant);
}

template <class T>
void magnitude(Stream& stream, std::span<T const> x, int n, std::span<T> output,
               std::string_view variant) {
  run_on_vectors(stream, "elementwise::magnitude", Operation::magnitude, x, n, 0, output, variant);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template std::span<Variant<Function<T>> const> variants<T>();                                   \
  template void add(Stream&, std::span<T const>, std::span<T const>, std::span<T>,                \
                    std::string_view);                                                            \
  template void axpy(Stream&, T, std::span<T const>, std::span<T>, std::string_view);             \
  template void scale(Stream&, T, std::span<T>, std::string_view);                                \
  template void fill(Stream&, T, std::span<T>, std::string_view);                                 \
  template void matrix_add(Stream&, Matrix<T const> const&, Matrix<T const> const&,               \
                           Matrix<T> const&, std::string_view);                                   \
  template void dot3(Stream&, std::span<T const>, std::span<T const>, std::span<T>,               \
                     std::string_view);                                                           \
  template void gather(Stream&, std::span<T const>, std::span<std::int64_t const>, std::span<T>,  \
                       std::string_view);                                                         \
  template void component(Stream&, std::span<T const>, int, int, std::span<T>, std::string_view); \
  template void magnitude(Stream&, std::span<T const>, int, std::span<T>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::elementwise
