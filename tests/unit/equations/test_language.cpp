#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "equations/discretise.hpp"
#include "equations/language.hpp"
#include "equations/operators.hpp"
#include "equations/text.hpp"
#include "unit/equations/language_texts.hpp"

namespace gridstride::equations {
namespace {

using test::faults_of, test::read, test::text_of;

/// The rate of u in a system of u and a vector q, as it is understood.
std::string understood(int dims, std::string const& of_u) {
  System const system = read(text_of(dims, of_u, "q"));
  return system.rates.empty() ? "" : to_text(system, system.rates[0]);
}

struct Case {
  std::string_view text, meaning;
};

TEST(Language, OperatorsStandForDerivatives) {
  for (auto const& [text, meaning] : std::vector<Case>{
           {"d_dx(u)", "d_dx(u)"},
           {"d_dx(d_dx(u))", "d2_dx2(u)"},
           {"d2_dx2(d2_dx2(u))", "d2_dx2(d2_dx2(u))"},
           {"d_dy(d_dx(u))", "d2_dxdy(u)"},
           {"d2_dxdy(d_dx(u))", "d_dy(d2_dx2(u))"},
           {"d_dx(-d_dx(u))", "-d2_dx2(u)"},
           {"d_dy(2*d_dy(u)/3)", "2*d2_dy2(u)/3"},
           {"d_dx(d_dx(u) - u + 3)", "d2_dx2(u) - d_dx(u)"},
           {"d_dx(d_dy(u) - u + 3)", "d_dx(d_dy(u) - u + 3)"},
           {"d_dy(d_dx(d_dy(u) - u^2))", "d_dx(d2_dy2(u)) - d2_dxdy(u^2)"},
           {"d_dx(d_dx(u) + x^2)", "d2_dx2(u) + 2*x"},
           {"laplace(u^3 - laplace(u))", "laplace(u^3 - laplace(u))"},
           {"laplace(-d_dx(u))", "laplace(-d_dx(u))"},
           {"d_dx(laplace(-d_dx(u)))", "-d2_dx2(d2_dx2(u)) - d2_dy2(d2_dx2(u))"},
           {"d_dx(u + d_dx(u))", "d_dx(u) + d2_dx2(u)"},
           {"d_dx(2 + 2*d_dx(u))", "2*d2_dx2(u)"},
           {"d_dy(laplace(-d_dx(u)))", "d_dy(laplace(-d_dx(u)))"},
           {"d_dy(d2_dx2(u^2 - d_dx(d2_dy2(u) - d_dy(u))/2))",
            "d_dy(d2_dx2(u^2)) - (d2_dxdy(d2_dy2(d2_dx2(u))) - d_dx(d2_dy2(d2_dx2(u))))/2"},
           {"d_dx(u*d_dx(u))", "d_dx(u*d_dx(u))"},
           {"d_dx(exp(d_dx(u)))", "d_dx(exp(d_dx(u)))"},
           {"curl(curl(u))", "-d2_dx2(u) - d2_dy2(u)"},
           {"curl(laplace(curl(u)))",
            "-d2_dx2(d2_dx2(u)) - d2_dy2(d2_dx2(u)) - (d2_dy2(d2_dx2(u)) + d2_dy2(d2_dy2(u)))"},
           {"laplace(u)", "laplace(u)"},
           {"d2_dx2(u) + d2_dy2(u)", "laplace(u)"},
           {"d2_dy2(u) + d2_dx2(u)", "d2_dy2(u) + d2_dx2(u)"},
           {"laplace(u^2 - u)", "laplace(u^2 - u)"},
           {"div(grad(u))", "div(grad(u))"},
           {"div(u*grad(u))", "div([u*d_dx(u), u*d_dy(u)])"},
           {"div(q)", "div(q)"},
           {"div(2*q)", "div([2*q.x, 2*q.y])"},
           {"div([u, 0])", "div([u, 0])"},
           {"advect(q, u)", "advect(q, u)"},
           {"advect([1, u], u)", "advect([1, u], u)"},
           {"dot(q, grad(u))", "q.x*d_dx(u) + q.y*d_dy(u)"},
           {"curl(q)", "d_dx(q.y) - d_dy(q.x)"},
           {"curl(u).x", "d_dy(u)"},
           {"curl(u).y", "-d_dx(u)"},
           {"norm2(q)", "q.x^2 + q.y^2"},
           {"norm(q)", "sqrt(q.x^2 + q.y^2)"},
           {"norm2(outer(q, [1, 2]))", "q.x^2 + (q.x*2)^2 + q.y^2 + (q.y*2)^2"},
           {"grad(q).x.y", "d_dy(q.x)"},
           {"div(dot(grad(q), q))",
            "div([d_dx(q.x)*q.x + d_dy(q.x)*q.y, d_dx(q.y)*q.x + d_dy(q.y)*q.y])"},
           {"dot(q, identity).y", "q.y"},
           {"dot(identity, [u, 2]).x", "u"},
           {"(3*identity).y.y", "3"},
           {"(q/2 - [1, 1]).x", "q.x/2 - 1"},
           {"(-q).y", "-q.y"},
           {"if(u > 0, q, 2*q).x", "if(u > 0, q.x, 2*q.x)"},
           {"[q, 2*q].y.x", "2*q.x"},
           {"laplace(q).y", "laplace(q.y)"},
           {"dt(q.x)", "q.x"},
           {"dt(q).y", "q.y"},
           {"diff(u^3 + k*u, u)", "3*u^2 + 0.06"},
           {"diff(q, q.y).y", "1"},
           {"diff(sin(x)*t, x)", "cos(x)*t"},
           {"diff(x*t^2, t)", "x*(2*t)"},
           {"min(u, q.x, 3)", "min(u, q.x, 3)"},
           {"F*(1 - u)", "0.04*(1 - u)"},
       }) {
    EXPECT_EQ(understood(2, std::string(text)), meaning) << text;
  }
}

TEST(Language, KnowsOneAxisAndThree) {
  EXPECT_EQ(understood(1, "laplace(u)"), "d2_dx2(u)");
  EXPECT_EQ(understood(1, "div(q)"), "div(q)");
  EXPECT_EQ(understood(1, "div([u^2/2])"), "div([u^2/2])");
  EXPECT_EQ(understood(1, "div(grad(u))"), "div(grad(u))");
  EXPECT_EQ(understood(1, "advect([u], u)"), "advect([u], u)");
  EXPECT_EQ(understood(1, "dot(identity, q).x + norm(q)"), "q.x + sqrt(q.x^2)");
  EXPECT_EQ(understood(3, "laplace(u)"), "laplace(u)");
  EXPECT_EQ(understood(3, "div(grad(u))"), "div(grad(u))");
  EXPECT_EQ(understood(3, "div([u, 0, q.z])"), "div([u, 0, q.z])");
  EXPECT_EQ(understood(3, "curl(q).x"), "d_dy(q.z) - d_dz(q.y)");
  EXPECT_EQ(understood(3, "curl(q).y"), "d_dz(q.x) - d_dx(q.z)");
  EXPECT_EQ(understood(3, "curl(q).z"), "d_dx(q.y) - d_dy(q.x)");
  EXPECT_EQ(understood(3, "d_dz(d_dy(d_dx(u)))"), "d_dz(d2_dxdy(u))");
}

TEST(Language, DerivativesOfDerivativesReachNoFurtherThanOne) {
  auto const reach = [](int dims, std::string const& of_u) {
    System system = read(text_of(dims, of_u, "q"));
    system.rates.resize(1);
    Grid const grid{.dims = dims, .points = {99, 99, 99}, .origin = {}, .spacing = {0.5, 0.5, 0.5}};
    Stencil const stencil = discretise(system, grid, Space{});
    return program_of(stencil.terms, stencil.rates, dims).reach;
  };
  EXPECT_EQ(reach(2, "curl(laplace(curl(u)))"), (std::array{2, 2, 0}));
  EXPECT_EQ(reach(2, "d_dx(laplace(q.x - d_dx(u)))"), (std::array{2, 1, 0}));
  EXPECT_EQ(reach(2, "d_dx(laplace(u*q.x - d_dx(u)))"), (std::array{2, 1, 0}));
  EXPECT_EQ(reach(3, "curl(laplace(curl(q))).z"), (std::array{2, 2, 2}));
  EXPECT_EQ(reach(3, "d_dz(laplace(laplace(u/2 - d_dz(u))))"), (std::array{2, 2, 3}));
}

TEST(Language, SumsThatAreSharedAreLookedAtOnce) {
  for (std::string const first : {"u + q.x", "u - d_dx(u)"}) {
    SystemText text = text_of(2, "d_dx(laplace(s199)) + curl([s198, s199])", "q");
    text.lets = {{"s0", {"u^2"}}, {"s1", {first}}};
    for (int k = 2; k < 200; ++k)
      text.lets.push_back({"s" + std::to_string(k),
                           {"s" + std::to_string(k - 1) + " + 0.1*s" + std::to_string(k - 2)}});
    EXPECT_LT(read(text).terms.size(), 4000u) << first;
  }
}

TEST(Language, DivergenceOfAGradientOfAVectorIsItsLaplacian) {
  System const system = read(text_of(2, "0", "div(grad(q))"));
  for (int i = 0; i < 2; ++i) {
    Terms terms = system.terms;
    Term const q = terms.unknown(1 + i);
    EXPECT_EQ(system.rates[static_cast<std::size_t>(1 + i)],
              terms.add(terms.flux(terms.derivative(q, {1, 0, 0}), 0),
                        terms.flux(terms.derivative(q, {0, 1, 0}), 1)));
  }
  // Σ_j ∂(q_i q_j)/∂x_j
  EXPECT_EQ(to_text(read(text_of(2, "0", "div(outer(q, q)/u + 2*u^2*identity)"))),
            (std::vector<std::string>{
                "dt(u) = 0",
                "dt(q.x) = div([q.x*q.x/u + 2*u^2, q.x*q.y/u])",
                "dt(q.y) = div([q.y*q.x/u, q.y*q.y/u + 2*u^2])",
            }));
}

TEST(Language, FormulasAreDifferentiatedByCalculus) {
  EXPECT_EQ(understood(2, "d_dx(sin(x)*t)"), "cos(x)*t");
  EXPECT_EQ(understood(2, "laplace(x^2 + y)"), "2");
  EXPECT_EQ(understood(2, "div([x, y])"), "2");
  EXPECT_EQ(understood(2, "advect(q, x)"), "q.x");
  EXPECT_EQ(understood(2, "d_dx(3*t)"), "0");
  EXPECT_EQ(understood(2, "grad(7).x"), "0");
  EXPECT_EQ(understood(2, "d_dx(x*u)"), "d_dx(x*u)") << "fields by differences";
  EXPECT_EQ(understood(2, "d_dx(if(x < 1, 2, 3))"), "d_dx(if(x < 1, 2, 3))") << "jumps, too";
  EXPECT_EQ(understood(2, "d2_dx2(abs(x))"), "d_dx(sign(x))");
  EXPECT_EQ(understood(2, "div([step(x), y])"), "div([step(x), 0]) + 1");
  EXPECT_EQ(understood(2, "advect(q, floor(x))"), "advect(q, floor(x))");
}

TEST(Language, NamesStandForTextsInAnyOrder) {
  SystemText text = text_of(2, "5*laplace(mu)");
  text.lets = {{"mu", {"diff(f, u) - 2*laplace(u)"}},
               {"f", {"5*(u - 0.3)^2*(0.7 - u)^2"}},
               {"unused", {"f"}},
               {"flux", {"u", "2*u"}, true}};
  EXPECT_EQ(to_text(read(text))[0],
            "dt(u) = 5*laplace(5*(2*(u - 0.3))*(0.7 - u)^2 + 5*(u - 0.3)^2*-(2*(0.7 - u)) - "
            "2*laplace(u))");
  text.equations[0].texts = {"div(flux)"};
  EXPECT_EQ(to_text(read(text))[0], "dt(u) = div([u, 2*u])");
}

TEST(Language, RatesOfOtherFields) {
  SystemText text = text_of(1, "dt(v) - v");
  text.equations.push_back({{"v", {"2*laplace(u) + w"}}, false});
  text.lets = {{"w", {"u^2"}}};
  EXPECT_EQ(to_text(read(text)), (std::vector<std::string>{
                                     "dt(u) = 2*d2_dx2(u) + u^2 - v",
                                     "dt(v) = 2*d2_dx2(u) + u^2",
                                 }));
}

TEST(Language, VectorsByComponents) {
  SystemText text = text_of(2, "0");
  text.equations.push_back({{"q", {"u", "-q.x"}, true}, true});
  System const system = read(text);
  EXPECT_EQ(to_text(system)[1], "dt(q.x) = u");
  EXPECT_EQ(to_text(system)[2], "dt(q.y) = -q.x");
  EXPECT_EQ(system.component_count(), 3);
  EXPECT_EQ(system.unknowns[1].first, 1);
  EXPECT_EQ(system.unknowns[1].components, 2);
  SystemText one = text_of(1, "0");
  one.equations.push_back({{"q", {"u"}, true}, true});
  EXPECT_EQ(to_text(read(one))[1], "dt(q.x) = u");
}

TEST(Language, VectorEquationsAreVectors) {
  EXPECT_EQ(faults_of(text_of(2, "0", "u")),
            "q 0: 'q' is a vector, but its equation is a scalar (a vector of components is written "
            "[a, b])");
  EXPECT_EQ(faults_of(text_of(2, "0", "grad(q)")),
            "q 0: 'q' is a vector, but its equation is a tensor (a vector of components is written "
            "[a, b])");
  SystemText text = text_of(2, "0");
  text.equations[0].listed = true;
  text.equations[0].texts = {"u", "1"};
  EXPECT_EQ(faults_of(text),
            "u 0: 'u' is a scalar, but its equation is a vector ('fields: {u: "
            "vector}' makes it a vector)");
  text.equations[0].texts = {"u", "1", "2"};
  EXPECT_EQ(faults_of(text), "u 0: has 3 components, but the grid has 2 axes (see grid.points)");
  text.equations[0].texts = {"min(u", "1)", "2"};
  EXPECT_EQ(faults_of(text),
            "u 0: has 3 components, but the grid has 2 axes (see grid.points) (in a list, a "
            "formula with a comma in it needs quotes)");
  text.equations[0].is_vector = true;
  text.equations[0].texts = {"u.x", "u"};
  EXPECT_EQ(faults_of(text), "u.1 0: a component is a scalar, here is a vector");
  text.equations[0].texts = {"u.x", "1 + w"};
  EXPECT_EQ(faults_of(text).substr(0, 20), "u.1 4: unknown name ");
}

TEST(Language, OperatorsAreNamesThatAreTaken) {
  EXPECT_EQ(name_problem("div"), "the name 'div' is taken (it is an operator)");
  EXPECT_EQ(name_problem("identity"), "the name 'identity' is taken (it is an operator)");
  EXPECT_EQ(name_problem("u"), "");
  for (LanguageOperator const& one : operators()) {
    EXPECT_FALSE(one.info.doc.empty());
    EXPECT_TRUE(one.info.signature.starts_with(one.info.name));
  }
}

}  // namespace
}  // namespace gridstride::equations
