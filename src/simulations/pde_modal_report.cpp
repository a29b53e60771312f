// How a run in modes was understood.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "equations/modal_operators.hpp"
#include "equations/text.hpp"
#include "model/modal_scheme.hpp"
#include "simulations/pde_modes.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_report.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {
namespace {

using equations::ModalPart;
using equations::ModalSum;
using equations::ModalSystem;

std::string quantity_name(equations::System const& system, int quantity) {
  int const count = system.component_count();
  return quantity < count ? equations::component_name(system, quantity)
                          : fmt::format("P{}", quantity - count + 1);
}

/// `(d2_dx2 + d2_dy2)/(d2_dx2 + d2_dy2 - 1) w`
std::string to_text(equations::System const& system, ModalSum const& sum) {
  std::vector<std::string> parts;
  for (ModalPart const& part : sum) {
    bool const is_number =
        part.numerator.size() == 1 && part.numerator.contains(equations::Orders{});
    std::string text = equations::to_text(part.numerator, system.dims);
    if (!is_number) text = fmt::format("({})", text);
    if (part.denominator.empty() && (text == "1" || text == "-1")) text.pop_back();
    if (!part.denominator.empty())
      text = fmt::format("{}/({})", text, equations::to_text(part.denominator, system.dims));
    bool const is_sign = text.empty() || text == "-";
    parts.push_back(
        fmt::format("{}{}{}", text, is_sign ? "" : " ", quantity_name(system, part.quantity)));
  }
  return parts.empty() ? "0" : fmt::format("{}", fmt::join(parts, " + "));
}

std::string transforms_line(config::RunConfig const& run, ModalSystem const& modal) {
  int const of_one = equations::transforms_of(modal), evaluations = modal_evaluations(run);
  if (of_one == 0) return "transforms: none in a step (all is linear)";
  return fmt::format(
      "transforms: {} for an evaluation of what is not linear, {} in a step ({} "
      "evaluation{})",
      of_one, of_one * evaluations, evaluations, evaluations == 1 ? "" : "s");
}

std::string derivatives_line(ModalSystem const& modal) {
  if (modal.symbols == equations::Symbols::differences)
    return fmt::format(
        "derivatives: differences of order {}, by their symbols where they are "
        "linear",
        modal.order);
  return modal.dealias[0] < 1
             ? fmt::format("derivatives: spectral; {:.4g} of the frequencies are kept",
                           modal.dealias[0])
             : std::string("derivatives: spectral");
}

}  // namespace

std::vector<std::string> modal_report(config::RunConfig const& run) {
  auto const& system = system_of(run);
  auto const modal = modal_split_of(run).system;
  std::vector<std::string> lines = {"equations as understood:"};
  for (auto const& equation : equations::to_text(system)) lines.push_back("  " + equation);
  lines.push_back(fmt::format(
      "scheme: {}{}", run.time.scheme,
      is_implicit_in_modes(run.time.scheme) ? ", which takes what is linear by itself" : ""));
  lines.push_back(fmt::format("step: {:.6g} s, as the file gives it", *run.time.step));
  lines.push_back(derivatives_line(modal));
  add_linear_parts(system, lines);
  lines.push_back("in modes, with products P at the points:");
  for (std::size_t c = 0; c < modal.linear.size(); ++c)
    lines.push_back(fmt::format("  dt({}) = L: {}; N: {}",
                                equations::component_name(system, static_cast<int>(c)),
                                to_text(system, modal.linear[c]), to_text(system, modal.rest[c])));
  for (std::size_t k = 0; k < modal.held.size(); ++k)
    lines.push_back(
        fmt::format("  {} = {}", system.names[k].name.name, to_text(system, modal.held[k])));
  lines.push_back(transforms_line(run, modal));
  return lines;
}

}  // namespace gridstride::pde
