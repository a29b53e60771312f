#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/bench.hpp"
#include "core/error.hpp"

namespace gridstride::bench {

namespace {

/// Elements of a comparison with the reference: a prime, so that no tile of any variant divides it.
constexpr std::int64_t checked_elements = 4'194'301;

constexpr int most_sets = 64;
constexpr std::size_t most_rotated_bytes = std::size_t{512} << 20;

/// Sets that together exceed twice the last cache, so that no run finds its data there.
int sets_for(Stream const& stream, double set_bytes) {
  auto const rotated = std::min(2 * machine::cache_bytes(stream.device()), most_rotated_bytes);
  double const sets = static_cast<double>(rotated) / std::max(set_bytes, 1.0) + 1;
  return static_cast<int>(std::min<double>(sets, most_sets));
}

/// What fits the memory beside what the variants need for themselves.
std::int64_t fitting_size(Stream const& stream, Workload const& workload) {
  auto const free = static_cast<double>(stream.device().free_memory());
  std::int64_t size = workload.size;
  while (size > 1 && 3 * workload.work(size).set_bytes > free) size /= 2;
  return size;
}

std::int64_t size_to_run(Stream const& stream, Workload const& workload, std::int64_t asked) {
  if (workload.size_of == SizeOf::none) return workload.size;
  return workload.rounded(asked > 0 ? asked : fitting_size(stream, workload));
}

machine::Roof const& roof_of(Demand const& demand, std::vector<machine::Roof> const& roofs) {
  for (auto const name : {demand.roof, demand.otherwise}) {
    auto const roof = std::ranges::find(roofs, name, &machine::Roof::name);
    if (roof != roofs.end()) return *roof;
  }
  throw std::logic_error("no roof " + std::string(demand.roof));
}

/// Of all roofs, the one at which a run would take longest.
Bound bound_of(std::vector<Demand> const& asks, std::vector<machine::Roof> const& roofs) {
  Bound bound;
  for (auto const& demand : asks) {
    auto const& roof = roof_of(demand, roofs);
    double const seconds = demand.amount / roof.rate;
    if (seconds > bound.seconds) bound = {roof.name, roof.unit, seconds};
  }
  return bound;
}

/// What is asked where a row has an arithmetic roof of its own.
std::vector<Demand> asks_of(Row const& row, std::vector<Demand> asks,
                            std::vector<machine::Roof> const& roofs) {
  if (row.roof.empty()) return asks;
  for (auto& demand : asks) {
    auto const& roof = roof_of(demand, roofs);
    if (roof.unit == "FLOP/s") demand = {row.roof, row.operations * demand.amount, roof.name};
  }
  return asks;
}

Values reference_values(Workload const& workload, std::int64_t size) {
  Stream host(Device::open(Backend::cpu));
  auto const problem = workload.make(host, size, 1);
  problem.prepare(0);
  problem.run("reference", 0);
  return problem.result(0);
}

/// The results of one run on freshly prepared data.
Values values_of(Problem const& problem, std::string_view variant) {
  problem.prepare(0);
  problem.run(variant, 0);
  return problem.result(0);
}

/// Judges variants: on few elements against the reference; and on all, where there are more,
/// against the variant that came first. Or by their error, at full size, where the problem tells
/// it.
class Check {
 public:
  Check(Stream& stream, Workload const& workload, std::int64_t size, Problem const& full)
      : full_(full) {
    if (full.accuracy) {
      text_ = fmt::format("checked: error is {}", workload.error);
      return;
    }
    auto const checked_size = workload.rounded(std::min(size, checked_elements));
    in_full_ = checked_size == size;
    text_ = fmt::format("checked: every value against the reference at {} elements{}", checked_size,
                        in_full_ ? "" : ", and samples against each other at full size");
    expected_ = reference_values(workload, checked_size);
    small_ = workload.make(stream, checked_size, 1);
  }

  /// What results are compared with.
  std::string const& text() const { return text_; }

  /// Sets the error, and what is wrong with the results; the remark is empty when nothing is.
  void judge(VariantResult& variant) {
    variant.remark = full_.accuracy ? too_inaccurate(variant) : fault(variant.row.name);
    variant.wrong = !variant.remark.empty();
  }

 private:
  std::string too_inaccurate(VariantResult& variant) {
    full_.prepare(0);
    full_.run(variant.row.name, 0);
    auto const [error, allowed] = full_.accuracy(variant.row.name);
    variant.error = error;
    if (error <= allowed) return {};
    return fmt::format("the error is {:.3g}, more than {:.3g}", error, allowed);
  }

  std::string fault(std::string_view variant) {
    auto const differing = difference(expected_, values_of(small_, variant));
    if (!differing.empty()) return "differs from the reference: " + differing;
    return in_full_ ? std::string() : fault_at_full_size(variant);
  }

  std::string fault_at_full_size(std::string_view variant) {
    auto const found = values_of(full_, variant);
    if (first_.empty()) {
      first_ = variant;
      first_values_ = found;
    }
    auto const differing = difference(first_values_, found);
    return differing.empty() ? ""
                             : fmt::format("differs from '{}' at full size: {}", first_, differing);
  }

  std::string text_;
  Values expected_;
  Problem small_;
  Problem const& full_;
  bool in_full_ = true;
  std::string first_;
  Values first_values_;
};

/// The rows in the order in which they are checked: the default first, for the others are compared
/// with it.
std::vector<std::size_t> default_first(std::vector<Row> const& rows) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return rows[i].is_default; });
  return order;
}

}  // namespace

std::string difference(Values const& expected, Values const& found) {
  if (expected.size() != found.size())
    return fmt::format("{} values instead of {}", found.size(), expected.size());
  std::size_t count = 0, first = 0;
  for (std::size_t i = expected.size(); i-- > 0;) {
    bool const both_nan = expected[i] != expected[i] && found[i] != found[i];
    if (expected[i] == found[i] || both_nan) continue;
    first = i;
    ++count;
  }
  if (count == 0) return {};
  return fmt::format("{} of {} values, the first at {}: {} instead of {}", count, found.size(),
                     first, found[first], expected[first]);
}

std::optional<double> Measurement::vendor_seconds() const {
  for (auto const& variant : variants)
    if (variant.row.is_vendor && variant.timing) return variant.timing->median;
  return std::nullopt;
}

Measurement measure(Stream& stream, Workload const& workload, std::int64_t size,
                    std::vector<machine::Roof> const& roofs,
                    std::function<void(std::string_view)> const& progress, double budget_seconds) {
  auto const run_size = size_to_run(stream, workload, size);
  auto const work = workload.work(run_size);
  Measurement result{.workload = workload,
                     .size = run_size,
                     .work = work,
                     .sets = sets_for(stream, work.set_bytes),
                     .bound = bound_of(work.asks, roofs),
                     .checked = {},
                     .variants = {}};

  progress("reference");
  auto const problem = workload.make(stream, result.size, result.sets);
  for (int set = 0; set < result.sets; ++set) problem.prepare(set);
  Check check(stream, workload, result.size, problem);
  result.checked = check.text();
  for (auto const& row : workload.rows)
    result.variants.push_back(
        {.row = row, .bound = bound_of(asks_of(row, work.asks, roofs), roofs)});
  for (auto const i : default_first(workload.rows)) {
    auto& variant = result.variants[i];
    auto const name = variant.row.name;
    progress(name);
    try {
      check.judge(variant);
      if (!variant.wrong)
        variant.timing = time_variant(stream, workload, problem, result.sets, name, budget_seconds);
    } catch (CudaError const&) {
      throw;  // after which the device is in no state to go on
    } catch (std::exception const& refusal) {
      variant.remark = refusal.what();
      variant.wrong = variant.row.is_default;  // which has to take everything
    }
  }
  return result;
}

}  // namespace gridstride::bench
