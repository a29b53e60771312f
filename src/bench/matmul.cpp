#include "kernels/matmul/matmul.hpp"

#include <cmath>
#include <limits>

#include "bench/matrix_samples.hpp"
#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_matmul {

using machine::fill_random;

struct Shape {
  std::int64_t m, n, k;

  double elements() const { return static_cast<double>(m) * static_cast<double>(n); }
  double operations() const { return 2 * elements() * static_cast<double>(k); }
  double operands() const { return static_cast<double>(m + n) * static_cast<double>(k); }
};

/// Whether the variant rounds operands to TF32, which has 10 bits after the first.
bool rounds_operands(std::string_view variant) {
  return variant == "tf32" || variant == "cublas_tf32";
}

/// What an operation computes of A and B; an update adds to what C has.
struct Asked {
  std::string_view operation;
  std::int64_t host_size, gpu_size;
  Shape (*shape)(std::int64_t size);
  bool update = false;
  bool rounded = false;  ///< the variants that round operands, or the others
  SizeOf size_of = SizeOf::matrix;
};

// ------------------------------------------------------------------------------------ the problem

/// C = A·B, or C −= A·B, for random A and B.
template <class T>
class Product {
 public:
  Product(Stream& stream, Shape const& shape, bool update, int sets)
      : stream_(stream),
        shape_(shape),
        update_(update),
        a_(stream, shape.m * shape.k, sets),
        b_(stream, shape.k * shape.n, sets),
        c_(stream, shape.m * shape.n, sets),
        rows_(spread(shape.m)),
        columns_(spread(shape.n)) {}

  void prepare(int set) {
    fill(a_(set), set, 0);
    fill(b_(set), set, 1);
    if (update_)
      fill(c_(set), set, 2);
    else
      spoil(stream_, c_(set));
  }

  /// An update changes C from run to run, which changes no time.
  void run(std::string_view variant, int set) {
    matmul::multiply<T>(stream_, update_ ? -1 : 1, a(set), b(set), update_ ? 1 : 0,
                        {c_(set).data(), shape_.m, shape_.n}, variant);
  }

  /// The largest |c − exact| / Σ|a||b| of the samples. A sum of k products has at most
  /// k·ε/2·Σ|a||b| of it, to first order and in any order (Higham, "Accuracy and Stability of
  /// Numerical Algorithms", 2nd ed., 3.1), and operands that are rounded by δ add 2·δ·Σ|a||b|.
  Accuracy accuracy(std::string_view variant) {
    if (exact_.empty()) find_exact();
    Matrix<T const> const c{c_(0).data(), shape_.m, shape_.n};
    auto const found = sampled_rows<T>(stream_, c, rows_);
    double const rounding = rounds_operands(variant) ? std::ldexp(2.0, -10) : 0;
    double const epsilon = std::numeric_limits<T>::epsilon();
    Accuracy result{0, static_cast<double>(shape_.k + 3) * epsilon + rounding};
    for (std::size_t r = 0, e = 0; r < rows_.size(); ++r)
      for (std::int64_t const j : columns_) {
        auto const& [value, magnitude] = exact_[e++];
        T const got = found[r * static_cast<std::size_t>(shape_.n) + static_cast<std::size_t>(j)];
        if (!std::isfinite(got)) return {std::numeric_limits<double>::infinity(), result.allowed};
        result.error =
            std::max(result.error, static_cast<double>(std::abs(got - value) / magnitude));
      }
    return result;
  }

 private:
  /// A sampled element of C, and Σ|a||b|; with the first |c| for an update.
  struct Exact {
    long double value, magnitude;
  };

  void fill(std::span<T> values, int set, int array) {
    auto const seed = 3 * static_cast<std::uint64_t>(set) + static_cast<std::uint64_t>(array);
    fill_random(stream_, values, seed, {.bits = std::numeric_limits<T>::digits});
  }
  Matrix<T const> a(int set) const { return {a_(set).data(), shape_.m, shape_.k}; }
  Matrix<T const> b(int set) const { return {b_(set).data(), shape_.k, shape_.n}; }

  /// Where each row sampled crosses each column sampled, for set 0.
  void find_exact() {
    auto const rows = sampled_rows<T>(stream_, a(0), rows_);
    auto const columns = sampled_columns<T>(stream_, b(0), columns_);
    auto const before = update_ ? rows_before() : std::vector<T>();
    auto const k = static_cast<std::size_t>(shape_.k), n = static_cast<std::size_t>(shape_.n);
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t s = 0; s < columns_.size(); ++s) {
        long double sum = 0, magnitude = 0;
        for (std::size_t p = 0; p < k; ++p) {
          long double const product =
              static_cast<long double>(rows[r * k + p]) * columns[s * k + p];
          sum += product;
          magnitude += std::abs(product);
        }
        if (update_) {
          long double const c = before[r * n + static_cast<std::size_t>(columns_[s])];
          sum = c - sum;
          magnitude += std::abs(c);
        }
        exact_.push_back({sum, magnitude});
      }
  }

  /// The rows of C as `prepare` makes them.
  std::vector<T> rows_before() {
    Arrays<T> const c(stream_, shape_.m * shape_.n, 1);
    fill(c(0), 0, 2);
    return sampled_rows<T>(stream_, {c(0).data(), shape_.m, shape_.n}, rows_);
  }

  Stream& stream_;
  Shape shape_;
  bool update_;
  Arrays<T> a_, b_, c_;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<Exact> exact_;
};

template <class T>
Problem problem(Stream& stream, Shape const& shape, bool update, int sets) {
  auto const product = std::make_shared<Product<T>>(stream, shape, update, sets);
  return {.prepare = [=](int set) { product->prepare(set); },
          .run = [=](std::string_view variant, int set) { product->run(variant, set); },
          .accuracy = [=](std::string_view variant) { return product->accuracy(variant); }};
}

// ---------------------------------------------------------------------------------- the workloads

/// The roof of products in T, or of such with rounded operands.
template <class T>
Demand arithmetic(double operations, bool rounded) {
  auto const tensor = rounded          ? machine::tf32_tensor_roof
                      : sizeof(T) == 8 ? machine::float64_tensor_roof
                                       : arithmetic_roof<T>();
  return {tensor, operations, arithmetic_roof<T>()};
}

template <class T>
Work work(Asked const& asked, std::int64_t size) {
  auto const shape = asked.shape(size);
  double const once = sizeof(T) * (shape.operands() + shape.elements());
  double const moved = once + (asked.update ? sizeof(T) * shape.elements() : 0);
  return {.bytes = moved,
          .flops = shape.operations(),
          .asks = {{machine::copy_roof, moved}, arithmetic<T>(shape.operations(), asked.rounded)},
          .set_bytes = once,
          .elements = shape.elements()};
}

template <class T>
std::vector<Row> rows(Backend backend, bool rounded) {
  auto rows = rows_of(matmul::variants<T>(), backend, matmul::default_variant<T>(backend));
  std::erase_if(rows, [&](Row const& row) { return rounds_operands(row.name) != rounded; });
  for (auto& row : rows)
    if (row.name == "tf32x3") {
      row.roof = machine::tf32_tensor_roof;
      row.operations = 3;
    }
  return rows;
}

template <class T>
Workload workload(Backend backend, Asked const& asked) {
  return {
      .family = "matmul",
      .operation = asked.operation,
      .type = type_name<T>(),
      .by_default = true,
      .size = backend == Backend::cuda ? asked.gpu_size : asked.host_size,
      .work = [=](std::int64_t size) { return work<T>(asked, size); },
      .rows = rows<T>(backend, asked.rounded),
      .make = [=](Stream& stream, std::int64_t size,
                  int sets) { return problem<T>(stream, asked.shape(size), asked.update, sets); },
      .size_of = asked.size_of,
      .error = "the largest |c - exact| / sum |a||b| where up to 64 rows cross 64 columns"};
}

}  // namespace of_matmul

std::vector<Workload> matmul_workloads(Backend backend) {
  using namespace of_matmul;
  auto const square = [](std::int64_t size) { return Shape{size, size, size}; };
  auto const panel = [](std::int64_t size) { return Shape{size, size, 256}; };
  Asked const multiply{"multiply", 512, 8192, square};
  Asked const update{"C -= A*B, k = 256", 512, 8192, panel, true};
  std::vector<Workload> all = {workload<float>(backend, multiply),
                               workload<double>(backend, multiply)};
  if (backend == Backend::cuda) {
    Asked rounded{"multiply in TF32", 0, 8192, square};
    rounded.rounded = true;
    all.push_back(workload<float>(backend, rounded));
  }
  all.push_back(workload<float>(backend, update));
  all.push_back(workload<double>(backend, update));
  if (backend == Backend::cpu) return all;
  // Sizes at which a kernel's edges and its last blocks count.
  auto const thin = [](std::int64_t) { return Shape{1023, 4097, 65}; };
  Asked const odd{"1023 x 65 times 65 x 4097", 0, 1023, thin, false, false, SizeOf::none};
  for (Asked const& asked :
       {Asked{"multiply", 0, 97, square}, Asked{"multiply", 0, 1000, square}, odd}) {
    all.push_back(workload<float>(backend, asked));
    all.push_back(workload<double>(backend, asked));
  }
  return all;
}

}  // namespace gridstride::bench
