#include "kernels/adaptive/adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bench/workloads.hpp"
#include "expression/cost.hpp"

namespace gridstride::bench {

namespace of_adaptive {

using namespace quadrature;

/// Integrals over [0, 1] of a formula of x and a parameter k, from 0 to `last`.
struct Sweep {
  std::string_view formula;
  double last;
  double (*exact)(double k);

  Integrand integrand() const {
    constexpr expression::Variable variables[] = {{"x", 0}, {"k", 1}};
    return {expression::Expression::parse(formula, {}, variables), 1, 1};
  }
  std::vector<double> parameters(std::int64_t size) const {
    std::vector<double> k;
    for (std::int64_t i = 0; i < size; ++i)
      k.push_back(last * (static_cast<double>(i) + 0.5) / static_cast<double>(size));
    return k;
  }
};

/// A peak at k.
constexpr Sweep peaks = {"1/((x-k)^2 + 0.01)", 1, [](double k) {
                           return 10 * (std::atan(10 * (1 - k)) + std::atan(10 * k));
                         }};
/// A singularity at the lower end.
constexpr Sweep powers = {"x^(-k)", 0.5, [](double k) { return 1 / (1 - k); }};

template <class T>
constexpr Goal goal = {sizeof(T) == 4 ? 1e-3 : 1e-10, 0};

/// One of the family's functions, with the goal set.
template <class T>
struct GaussKronrod {
  static auto rows() { return gauss_kronrod_variants<T>(); }
  static void run(Stream& stream, Integrand const& integrand, std::span<double const> parameters,
                  std::span<Estimate> results, std::string_view variant) {
    gauss_kronrod<T>(stream, integrand, {0, 1}, parameters, {.tolerance = goal<T>}, results,
                     variant);
  }
};
template <class T>
struct TanhSinh {
  static auto rows() { return tanh_sinh_variants<T>(); }
  static void run(Stream& stream, Integrand const& integrand, std::span<double const> parameters,
                  std::span<Estimate> results, std::string_view variant) {
    tanh_sinh<T>(stream, integrand, {0, 1}, parameters, {.tolerance = goal<T>}, results, variant);
  }
};

/// The largest relative error, which the estimates promise to be within the tolerance.
Accuracy accuracy_of(Sweep const& sweep, std::span<double const> parameters,
                     std::span<Estimate const> found, double tolerance) {
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double const exact = sweep.exact(parameters[i]);
    double const error = std::abs(found[i].value - exact) / exact;
    worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  return {worst, tolerance};
}

template <class T, class Function>
Problem problem(Sweep const& sweep, Stream& stream, std::int64_t size, int sets) {
  Arrays<Estimate> const results(stream, size, sets);
  Arrays<double> const given(stream, size, 1);
  auto const parameters = sweep.parameters(size);
  copy_async(given(0), std::span(parameters), stream);
  stream.synchronize();
  auto const integrand = sweep.integrand();
  Problem made;
  made.prepare = [=, &stream](int set) { spoil(stream, results(set)); };
  made.run = [=, &stream](std::string_view variant, int set) {
    Function::run(stream, integrand, given.constant(0), results(set), variant);
  };
  made.accuracy = [=, &stream](std::string_view) {
    std::vector<Estimate> found(parameters.size());
    copy_async(std::span(found), results.constant(0), stream);
    stream.synchronize();
    return accuracy_of(sweep, parameters, found, goal<T>.relative);
  };
  return made;
}

/// Samples of an integral with a parameter in the middle.
template <class Function>
double samples_of(Sweep const& sweep) {
  Stream host(Device::open(Backend::cpu));
  double const k = sweep.last / 2;
  Estimate estimate;
  Function::run(host, sweep.integrand(), {&k, 1}, {&estimate, 1}, "threads");
  return static_cast<double>(estimate.evaluations);
}

template <class T, class Function>
Workload workload(Backend backend, std::string_view operation, Sweep const& sweep) {
  double const operations =
      2 * arithmetic_cost(sweep.integrand().formula) * samples_of<Function>(sweep);
  constexpr double moved = sizeof(double) + sizeof(Estimate);
  return {.family = "adaptive",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = std::int64_t{1} << (backend == Backend::cuda ? 17 : 12),
          .work = per_element(
              {.bytes = moved,
               .flops = operations,
               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), operations}},
               .set_bytes = sizeof(Estimate)}),
          .rows = rows_of(Function::rows(), backend, default_adaptive(backend)),
          .make = [=](Stream& stream, std::int64_t size,
                      int sets) { return problem<T, Function>(sweep, stream, size, sets); },
          .error = "|error| / value, the largest"};
}

}  // namespace of_adaptive

std::vector<Workload> adaptive_workloads(Backend backend) {
  using namespace of_adaptive;
  // First what a graph can hold, by which `list kernels` has figures of `on_chip`.
  constexpr std::string_view ends = "tanh_sinh of x^(-k)";
  constexpr std::string_view inside = "gauss_kronrod of 1/((x-k)^2 + 0.01)";
  return {workload<float, TanhSinh<float>>(backend, ends, powers),
          workload<double, TanhSinh<double>>(backend, ends, powers),
          workload<float, GaussKronrod<float>>(backend, inside, peaks),
          workload<double, GaussKronrod<double>>(backend, inside, peaks)};
}

}  // namespace gridstride::bench
