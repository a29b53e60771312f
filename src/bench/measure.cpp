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
int sets_for(Stream const& stream, std::size_t set_bytes) {
  auto const rotated = std::min(2 * machine::cache_bytes(stream.device()), most_rotated_bytes);
  auto const sets = rotated / std::max<std::size_t>(set_bytes, 1) + 1;
  return static_cast<int>(std::min<std::size_t>(sets, most_sets));
}

/// What fits the memory beside what the variants need for themselves.
std::int64_t fitting_size(Stream const& stream, Workload const& workload) {
  auto const free = stream.device().free_memory();
  std::int64_t size = workload.size;
  while (size > 1 && 3 * workload.set_bytes * static_cast<std::size_t>(size) > free) size /= 2;
  return size;
}

/// The roof that binds: of all, the one at which a run would take longest.
void set_roof(Measurement& result, std::vector<machine::Roof> const& roofs) {
  for (auto const& [name, amount] : result.workload.asks) {
    auto const roof = std::ranges::find(roofs, name, &machine::Roof::name);
    if (roof == roofs.end()) throw std::logic_error("no roof " + std::string(name));
    double const seconds = amount * static_cast<double>(result.size) / roof->rate;
    if (seconds <= result.roof_seconds) continue;
    result.roof = roof->name;
    result.roof_seconds = seconds;
  }
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
/// against the variant that came first.
class Check {
 public:
  Check(Stream& stream, Workload const& workload, std::int64_t checked_size, Problem const& full,
        bool in_full)
      : expected_(reference_values(workload, checked_size)),
        small_(workload.make(stream, checked_size, 1)),
        full_(full),
        in_full_(in_full) {}

  /// What is wrong with a variant's results; empty when nothing is.
  std::string fault(std::string_view variant) {
    auto const differing = difference(expected_, values_of(small_, variant));
    if (!differing.empty()) return "differs from the reference: " + differing;
    return in_full_ ? std::string() : fault_at_full_size(variant);
  }

 private:
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

  Values expected_;
  Problem small_;
  Problem const& full_;
  bool in_full_;
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
  Measurement result{.workload = workload,
                     .size = workload.rounded(size > 0 ? size : fitting_size(stream, workload)),
                     .sets = 1,
                     .roof = {},
                     .roof_seconds = 0,
                     .checked = {},
                     .variants = {}};
  auto const checked_size = workload.rounded(std::min(result.size, checked_elements));
  bool const in_full = checked_size == result.size;
  result.sets = sets_for(stream, workload.set_bytes * static_cast<std::size_t>(result.size));
  set_roof(result, roofs);
  result.checked =
      fmt::format("checked: every value against the reference at {} elements{}", checked_size,
                  in_full ? "" : ", and samples against each other at full size");

  progress("reference");
  auto const problem = workload.make(stream, result.size, result.sets);
  for (int set = 0; set < result.sets; ++set) problem.prepare(set);
  Check check(stream, workload, checked_size, problem, in_full);
  for (auto const& row : workload.rows) result.variants.push_back({row, {}, {}, false});
  for (auto const i : default_first(workload.rows)) {
    auto& variant = result.variants[i];
    auto const name = variant.row.name;
    progress(name);
    try {
      variant.remark = check.fault(name);
      variant.wrong = !variant.remark.empty();
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
