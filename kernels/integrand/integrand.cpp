#include "kernels/integrand/integrand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "expression/evaluate.hpp"
#include "expression/source.hpp"
#include "expression/transform.hpp"

namespace gridstride::quadrature {

void check(Integrand const& integrand) {
  auto const [formula, dimensions, parameters] = integrand;
  if (dimensions < 1 || dimensions > max_dimensions || parameters < 0 ||
      parameters > max_parameters)
    throw std::invalid_argument(
        fmt::format("quadrature: {} dimensions (1 to {}) and {} parameters (0 to {})", dimensions,
                    max_dimensions, parameters, max_parameters));
  if (formula.variable_count() > dimensions + parameters)
    throw std::invalid_argument(
        fmt::format("quadrature: the integrand is of {} variables, {} are integrated or given",
                    formula.variable_count(), dimensions + parameters));
}

template <class T>
RuntimeSource source_of(Integrand const& integrand, std::string_view file,
                        std::span<std::string const> definitions) {
  check(integrand);
  std::vector<std::string> variables;
  for (int k = 0; k < integrand.dimensions; ++k) variables.push_back(fmt::format("v[{}]", k));
  for (int k = 0; k < integrand.parameters; ++k) variables.push_back(fmt::format("p[{}]", k));
  std::string text = "#include \"expression/operations.hpp\"\n";
  for (std::string const& definition : definitions) text += fmt::format("#define {}\n", definition);
  text += fmt::format(
      "using Real = {};\n"
      "constexpr int dimensions = {}, parameters = {};\n"
      "__device__ __forceinline__ Real integrand(Real const* v, Real const* p) {{\n{}}}\n"
      "#include \"{}\"\n",
      std::is_same_v<T, float> ? "float" : "double", integrand.dimensions, integrand.parameters,
      expression::to_cuda(expression::simplified(integrand.formula), precision_of<T>(), variables,
                          expression::Powers::by_products),
      file);
  return {.name = fmt::format("{} of a formula", file), .text = std::move(text), .options = {}};
}

HostIntegrand::HostIntegrand(Integrand const& integrand)
    : dimensions_(integrand.dimensions), parameters_(integrand.parameters) {
  check(integrand);
  code_ = expression::to_instructions(expression::simplified(integrand.formula));
}

double HostIntegrand::operator()(double const* coordinates, double const* parameters) const {
  std::array<double, max_dimensions + max_parameters> variables;
  std::copy_n(coordinates, dimensions_, variables.begin());
  std::copy_n(parameters, parameters_, variables.begin() + dimensions_);
  return expression::evaluate_point<expression::max_stack_depth>(
      code_.data(), static_cast<int>(code_.size()), variables);
}

void HostIntegrand::evaluate(std::span<double const* const> variables, std::int64_t points,
                             double* result) const {
  expression::BlockEvaluator(code_).evaluate(variables, points, result);
}

template RuntimeSource source_of<float>(Integrand const&, std::string_view,
                                        std::span<std::string const>);
template RuntimeSource source_of<double>(Integrand const&, std::string_view,
                                         std::span<std::string const>);

}  // namespace gridstride::quadrature
