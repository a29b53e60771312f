#include "kernels/system/slots.hpp"

#include <algorithm>
#include <cstddef>

namespace gridstride::system {

namespace {

constexpr std::size_t never = static_cast<std::size_t>(-1);

/// The last value that is made of each.
std::vector<std::size_t> last_uses(std::span<SlotValue const> values,
                                   std::span<std::int32_t const> results) {
  std::vector<std::size_t> last(values.size(), never);
  for (std::size_t n = 0; n < values.size(); ++n)
    for (std::int32_t const operand : values[n].operands)
      if (operand >= 0) last[static_cast<std::size_t>(operand)] = n;
  for (std::int32_t const result : results) last[static_cast<std::size_t>(result)] = never;
  return last;
}

}  // namespace

Slots::Slots(std::span<SlotValue const> values, std::span<std::int32_t const> results)
    : of_value(values.size()),
      lasting(static_cast<int>(std::ranges::count(values, true, &SlotValue::lasts))),
      count(lasting) {
  auto const last = last_uses(values, results);
  int next_lasting = 0;
  std::vector<int> free;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (values[n].lasts) {
      of_value[n] = next_lasting++;
      continue;
    }
    auto operands = values[n].operands;
    std::ranges::sort(operands);
    for (auto end = std::unique(operands.begin(), operands.end()), one = operands.begin();
         one != end; ++one) {
      if (*one < 0) continue;
      auto const operand = static_cast<std::size_t>(*one);
      if (last[operand] == n && !values[operand].lasts) free.push_back(of_value[operand]);
    }
    if (free.empty()) free.push_back(count++);
    of_value[n] = free.back();
    free.pop_back();
  }
}

}  // namespace gridstride::system
