#include "model/modal_scheme.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/scheme.hpp"

namespace gridstride {

namespace {

using modes::entire;
using modes::rational;
using Group = ModalUpdate::Group;
using Term = ModalUpdate::Term;

ModalScheme imex_euler() {
  return {.functions = {rational(1, 0, 1, -1)},
          .stages = {{{0, 1, 0}, {{{{{0, 1}, {1, 1, true}}, {{0, 0}}}}}}},
          .arrays = 2};
}

// Arrays: 0 u, 1 N, and of the step before 2 u, 3 N.
ModalScheme imex_bdf2(double ratio) {
  double const w = ratio;
  Group const keep_state{{{0, 1}}, {{-1, 2}}}, keep_rate{{{1, 1}}, {{-1, 3}}};
  if (w == 0)
    return {.functions = {rational(1, 0, 1, -1)},
            .stages = {{{0, 1, 0}, {{{{{0, 1}, {1, 1, true}}, {{0, 0}}}, keep_state, keep_rate}}}},
            .arrays = 4};
  Group const next{{{0, 1 + w}, {2, -w * w / (1 + w)}, {1, 1 + w, true}, {3, -w, true}}, {{0, 0}}};
  return {.functions = {rational(1, 0, (1 + 2 * w) / (1 + w), -1)},
          .stages = {{{0, 1, 0}, {{next, keep_state, keep_rate}}}},
          .arrays = 4};
}

// Arrays: 0 u, 1 a stage's value, 2 to 5 the rates N, 6 to 8 the rates h·L but the last. The weights of
// the step are those of the last stage's implicit part, so that u' is its value and what the rates N
// differ by: a sum of h·L would lose what stiff modes have to rounding.
ModalScheme ark3() {
  auto const& table = ark3_table();
  double const gamma = table.implicit_part[1][1];
  ModalScheme scheme{
      .functions = {rational(1, 0, 1, -gamma), rational(0, 1, 1, -gamma), rational(0, 1, 1, 0)},
      .stages = {},
      .start = {{{{{0, 1}}, {{2, 6}}}}},
      .arrays = 9};
  constexpr std::size_t stages = AdditiveTable::stages;
  for (std::size_t i = 0; i < stages; ++i) {
    bool const is_last = i + 1 == stages;
    Group group{{{is_last ? 1 : 0, 1}}, {}};
    for (std::size_t j = 0; j <= i; ++j) {
      int const number = static_cast<int>(j);
      auto const& before = table.explicit_part[is_last ? i : i + 1];
      group.terms.push_back({2 + number, is_last ? table.weights[j] - before[j] : before[j], true});
      if (!is_last) group.terms.push_back({6 + number, table.implicit_part[i + 1][j]});
    }
    if (is_last)
      group.targets = {{-1, 0}};
    else
      group.targets = {{0, 1}};
    if (i + 2 < stages) group.targets.push_back({1, 7 + static_cast<int>(i)});
    scheme.stages.push_back({{i == 0 ? 0 : 1, 2 + static_cast<int>(i), table.times[i]}, {{group}}});
  }
  return scheme;
}

// Arrays: 0 u, 1 and 2 values a and b or c, 3 to 6 the rates of u, a, b and c.
ModalScheme etdrk4() {
  enum { half, push, full, first, middle, last };
  return {.functions = {entire(0.5, 1, 0, 0, 0), entire(0.5, 0, 0.5, 0, 0), entire(1, 1, 0, 0, 0),
                        entire(1, 0, 1, -3, 4), entire(1, 0, 0, 2, -4), entire(1, 0, 0, -1, 4)},
          .stages = {{{0, 3, 0}, {{{{{0, 1}}, {{half, 1}}}, {{{3, 1, true}}, {{push, 1}}}}}},
                     {{1, 4, 0.5}, {{{{{0, 1}}, {{half, 2}}}, {{{4, 1, true}}, {{push, 2}}}}}},
                     {{2, 5, 0.5},
                      {{{{{1, 1}}, {{half, 2}}}, {{{5, 2, true}, {3, -1, true}}, {{push, 2}}}}}},
                     {{2, 6, 1},
                      {{{{{0, 1}}, {{full, 0}}},
                        {{{3, 1, true}}, {{first, 0}}},
                        {{{4, 1, true}, {5, 1, true}}, {{middle, 0}}},
                        {{{6, 1, true}}, {{last, 0}}}}}}},
          .arrays = 7};
}

/// The buffers of the scheme, and one for the rate. Where two alternate the state stays in one.
ModalScheme explicit_in_modes(Scheme const& scheme) {
  ModalScheme result{.functions = {}, .stages = {}, .start = {}, .arrays = scheme.buffers + 1};
  int const rate = scheme.buffers;
  for (Stage const& stage : scheme.stages) {
    double base = 1 - stage.in_weight;
    std::vector<Term> terms = {{rate, stage.factor, true}};
    for (auto const& [buffer, weight] : stage.terms) {
      terms.push_back({buffer, weight});
      base -= weight;
    }
    if (stage.in == stage.base)
      terms.push_back({stage.in, base + stage.in_weight});
    else
      for (auto const& [array, weight] :
           {std::pair(stage.base, base), std::pair(stage.in, stage.in_weight)})
        if (weight != 0) terms.push_back({array, weight});
    int const out = scheme.alternates ? 0 : stage.out;
    result.stages.push_back({{stage.in, rate, stage.time, true}, {{{terms, {{-1, out}}}}}});
  }
  return result;
}

}  // namespace

AdditiveTable const& ark3_table() {
  constexpr double gamma = 1767732205903.0 / 4055673282236.0;
  static AdditiveTable const table = {
      {{{0, 0, 0, 0},
        {1767732205903.0 / 2027836641118.0, 0, 0, 0},
        {5535828885825.0 / 10492691773637.0, 788022342437.0 / 10882634858940.0, 0, 0},
        {6485989280629.0 / 16251701735622.0, -4246266847089.0 / 9704473918619.0,
         10755448449292.0 / 10357097424841.0, 0}}},
      {{{0, 0, 0, 0},
        {gamma, gamma, 0, 0},
        {2746238789719.0 / 10658868560708.0, -640167445237.0 / 6845629431997.0, gamma, 0},
        {1471266399579.0 / 7840856788654.0, -4482444167858.0 / 7529755066697.0,
         11266239266428.0 / 11593286722821.0, gamma}}},
      {1471266399579.0 / 7840856788654.0, -4482444167858.0 / 7529755066697.0,
       11266239266428.0 / 11593286722821.0, gamma},
      {2756255671327.0 / 12835298489170.0, -10771552573575.0 / 22201958757719.0,
       9247589265047.0 / 10645013368117.0, 2193209047091.0 / 5459859503100.0},
      {0, 1767732205903.0 / 2027836641118.0, 3.0 / 5, 1}};
  return table;
}

std::span<std::string_view const> implicit_modal_schemes() {
  static constexpr std::string_view names[] = {"imex_euler", "imex_bdf2", "ark3", "etdrk4"};
  return names;
}

bool is_implicit_in_modes(std::string_view name) {
  return std::ranges::count(implicit_modal_schemes(), name) > 0;
}

ModalScheme modal_scheme(std::string_view name, double ratio) {
  if (name == "imex_euler") return imex_euler();
  if (name == "imex_bdf2") return imex_bdf2(ratio);
  if (name == "ark3") return ark3();
  if (name == "etdrk4") return etdrk4();
  return explicit_in_modes(find_scheme(name));
}

}  // namespace gridstride
