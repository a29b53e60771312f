#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "equations/language.hpp"
#include "equations/text.hpp"
#include "unit/equations/language_texts.hpp"

namespace gridstride::equations {
namespace {

using test::faults_of, test::read, test::text_of;

/// Faults in the equation of u in a system of u and a vector q.
TEST(LanguageFaults, RefusesWithAPositionAndAReason) {
  struct Fault {
    int dims;
    std::string_view text, message;
  };
  for (auto const& [dims, text, message] : std::vector<Fault>{
           // names
           {2, "w + 1",
            "0: unknown name 'w' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators)"},
           {2, "1 + z", "4: the formula depends on 'z', but the grid has 2 axes (see grid.points)"},
           {1, "y", "0: the formula depends on 'y', but the grid has 1 axis (see grid.points)"},
           {2, "laplac(u)",
            "0: unknown function 'laplac' (`gridstride list functions` shows all); did you mean "
            "'laplace'?"},
           {2, "laplacian(u)",
            "0: unknown function 'laplacian' (`gridstride list functions` shows all); did you mean "
            "'laplace'?"},
           {2, "i*laplace(u)",
            "0: unknown name 'i' (there are no complex numbers: real and imaginary part are fields "
            "of their own)"},
           {2, "u_x",
            "0: unknown name 'u_x' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators); did you mean 'd_dx(u)'?"},
           {2, "u_yx",
            "0: unknown name 'u_yx' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators); did you mean 'd2_dxdy(u)'?"},
           {2, "u_xx",
            "0: unknown name 'u_xx' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators); did you mean 'd2_dx2(u)'?"},
           {2, "u_t",
            "0: unknown name 'u_t' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators); did you mean 'dt(u)'?"},
           {2, "q_y",
            "0: unknown name 'q_y' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators); did you mean 'q.y'?"},
           {2, "u_1",
            "0: unknown name 'u_1' (an equation knows x, y, t, pi, e, fields, names under 'let', "
            "constants, functions and operators)"},
           {2, "ln(u)",
            "0: unknown function 'ln' (`gridstride list functions` shows all); did you mean "
            "'log'?"},
           {2, "u(1 + u)",
            "0: 'u' is a field, not a function (multiplication is written out); did you mean "
            "'u*('?"},
           {2, "F(1 - u)",
            "0: 'F' is a number, not a function (multiplication is written out); did you mean "
            "'F*('?"},
           {2, "identity(u)",
            "0: 'identity' is a tensor, not a function (multiplication is written out); did you "
            "mean 'identity*('?"},
           {2, "laplace u",
            "0: 'laplace' is a function (its arguments stand in parentheses); did you mean "
            "'laplace(u)'?"},
           {2, "2 u",
            "2: an operator is missing between '2' and 'u' (multiplication is written "
            "out); did you mean '2*u'?"},
           // arguments
           {2, "advect(u)",
            "0: 'advect' takes 2 arguments, here are only 1 (it is called as advect(v, e))"},
           {2, "laplace(u, q)",
            "0: 'laplace' takes 1 argument, here are more (it is called as laplace(v))"},
           {2, "laplace()",
            "0: 'laplace' takes 1 argument, here are none (it is called as "
            "laplace(v))"},
           {2, "min()",
            "0: 'min' takes 1 or more arguments, here are none (it is called as min(v))"},
           {2, "min(q)",
            "4: 'min' takes a scalar, here is a vector (it is called as min(v)); did you mean "
            "'norm'?"},
           {2, "uniform(0.5)", "8: 'uniform' takes a seed (a whole number from 0 to 2147483647)"},
           {2, "normal(-1)", "7: 'normal' takes a seed (a whole number from 0 to 2147483647)"},
           {2, "noise(u)", "6: 'noise' takes a seed (a whole number from 0 to 2147483647)"},
           {2, "noise(2^31)", "6: 'noise' takes a seed (a whole number from 0 to 2147483647)"},
           {2, "uniform(q)", "8: 'uniform' takes a seed (a whole number from 0 to 2147483647)"},
           // ranks
           {2, "div(u)",
            "4: 'div' takes a vector or a tensor, here is a scalar (it is called as div(v))"},
           {1, "div(u)",
            "4: 'div' takes a vector or a tensor, here is a scalar (it is called as div(v)); did "
            "you mean 'd_dx(v)'?"},
           {2, "grad(u)",
            "0: 'u' is a scalar, but its equation is a vector ('fields: {u: vector}' "
            "makes it a vector)"},
           {2, "1 + grad(grad(grad(u)))",
            "9: 'grad' takes a scalar or a vector, here is a tensor (it is called as grad(v))"},
           {2, "identity", "0: 'u' is a scalar, but its equation is a tensor"},
           {2, "q*q",
            "1: a vector '*' a vector (a product of these is written dot(a, b), which sums, or "
            "outer(a, b), a tensor)"},
           {2, "u/q", "1: a scalar '/' a vector (only a scalar can be divided by)"},
           {2, "q^2", "1: a vector '^' a scalar (powers are of scalars); did you mean 'norm2(v)'?"},
           {2, "2^q", "1: a scalar '^' a vector (powers are of scalars)"},
           {2, "u + q", "2: a scalar '+' a vector (both sides must be of one kind)"},
           {2, "identity - u", "9: a tensor '-' a scalar (both sides must be of one kind)"},
           {2, "q < 1", "2: a vector '<' a scalar (only scalars can be compared)"},
           {2, "sin(q)", "4: 'sin' takes scalars, here is a vector (it is called as sin(v))"},
           {2, "abs(q)",
            "4: 'abs' takes scalars, here is a vector (it is called as abs(v)); did you mean "
            "'norm'?"},
           {2, "min(1, u, q)",
            "10: 'min' takes scalars, here is a vector (it is called as min(a, b, ...))"},
           {2, "if(q, 1, 2)",
            "3: 'if' takes a scalar first, here is a vector (it is called as if(c, a, b))"},
           {2, "if(u, q, 2)",
            "0: 'if' chooses between a vector and a scalar (both must be of one "
            "kind)"},
           {2, "norm(u)",
            "5: 'norm' takes a vector or a tensor, here is a scalar (it is called as "
            "norm(v)); did you mean 'abs(v)'?"},
           {2, "norm2(u)",
            "6: 'norm2' takes a vector or a tensor, here is a scalar (it is called "
            "as norm2(v)); did you mean 'v^2'?"},
           {2, "dot(u, q)",
            "4: 'dot' takes vectors or tensors, here is a scalar (it is called as "
            "dot(a, b))"},
           {2, "outer(q, u)",
            "9: 'outer' takes two vectors, here is a scalar (it is called as "
            "outer(a, b))"},
           {2, "advect(u, u)",
            "7: 'advect' takes a vector first, here is a scalar (it is called "
            "as advect(v, e))"},
           {1, "advect(u, u)",
            "7: 'advect' takes a vector first, here is a scalar (it is called "
            "as advect(v, e)); did you mean 'advect([v], e)'?"},
           {2, "curl(identity)",
            "5: 'curl' takes a scalar or a vector, here is a tensor (it is "
            "called as curl(v))"},
           {3, "curl(u)", "5: 'curl' takes a vector, here is a scalar (it is called as curl(v))"},
           {1, "curl(q)", "0: 'curl' needs a grid with two axes or three"},
           {1, "d_dy(u)", "0: 'd_dy' is along y, but the grid has 1 axis (see grid.points)"},
           {2, "d2_dxdz(u)", "0: 'd2_dxdz' is along z, but the grid has 2 axes (see grid.points)"},
           // vectors
           {2, "[1, 2]",
            "0: 'u' is a scalar, but its equation is a vector ('fields: {u: vector}' "
            "makes it a vector)"},
           {2, "div([1, 2, u])",
            "4: '[...]' has 3 components, but the grid has 2 axes (see grid.points)"},
           {2, "div([u])", "4: '[...]' has 1 component, but the grid has 2 axes (see grid.points)"},
           {1, "div([u, u])",
            "4: '[...]' has 2 components, but the grid has 1 axis (see grid.points)"},
           {2, "div([u, q])",
            "8: '[...]' has a vector beside a scalar (its components must be of one kind)"},
           {2, "[identity, identity]", "1: '[...]' is of scalars or of vectors"},
           {2, "div([u, u)", "9: a ']' is missing (it would close the '[' at character 5)"},
           {2, "div([u, u]", "10: a ')' is missing (it would close the '(' at character 4)"},
           {2, "(u]", "2: a ')' is missing (it would close the '(' at character 1)"},
           {2, "[u, u", "5: a ']' is missing (it would close the '[' at character 1)"},
           {2, "u]", "1: this ']' closes nothing (its '[' is missing)"},
           {2, "[]", "1: a value is expected before ']' (it follows '[')"},
           {2, "[u,]", "3: a value is expected before ']' (it follows ',')"},
           {2, "q.z", "2: there is no component 'z', for the grid has 2 axes (see grid.points)"},
           {2, "q.w",
            "2: a vector has no component 'w' (they are called by the axes: .x, .y and "
            ".z)"},
           {2, "u.x", "2: a scalar has no component 'x' (a derivative is written d_dx(...))"},
           {2, "u.real", "2: a scalar has no component 'real'"},
           {2, "q.", "1: a point without digits (a number is written 1.5, 1. or .5)"},
           // diff and dt
           {2, "diff(u^2, 3)",
            "10: 'diff' is with respect to a name (a field, a component of one, "
            "x, y, z or t)"},
           {2, "diff(u^2, k)",
            "10: 'diff' is with respect to a name (a field, a component of one, "
            "x, y, z or t)"},
           {2, "diff(u^2, u^2)",
            "10: 'diff' is with respect to a name (a field, a component of "
            "one, x, y, z or t)"},
           {2, "diff(u^2, q)",
            "10: 'diff' takes a scalar second, here is a vector (it is called as "
            "diff(e, name))"},
           {2, "diff(u*x, x)",
            "5: 'diff' knows no derivative of fields in space (d_dx, d_dy and "
            "d_dz are by differences)"},
           {2, "diff(u*t, t)",
            "5: 'diff' knows no derivative of fields in time (the rate of a "
            "field u is dt(u))"},
           {2, "diff(laplace(u), u)",
            "5: 'diff' is at a point by itself (the name stands under a "
            "derivative in space)"},
           {2, "dt(u^2)",
            "3: 'dt' is of a field alone (it stands for the right-hand side of the "
            "field's equation)"},
           {2, "dt(u)", "0: 'dt(u)' stands for itself (one needs the next: dt(u), dt(u))"},
           // values
           {2, "u/0", ""},
           {2, "1/0", "1: the value is not a finite number (it is inf)"},
           {2, "u + (-8)^(1/3)", "8: the value is not a finite number (it is nan)"},
           {2, "log(0)*u", "0: the value is not a finite number (it is -inf)"},
           {2, "if(0 > 1, sqrt(-1)*u, u) + if(1, u, [0, 1/0].y)", ""},
           {2, "if(1, if(0, log(-1), u), 1/0)", ""},
           {2, "if(0, 1/0, u/(1/0))", "15: the value is not a finite number (it is inf)"},
           {2, "if(1/0, u, 1)", "4: the value is not a finite number (it is inf)"},
           {2, "if(u > 0, 1, sqrt(-1))", "13: the value is not a finite number (it is nan)"},
           {2, "d2_dx2(d2_dx2(d2_dx2(d2_dx2(d_dx(u)))))",
            "0: a derivative is of order 9 (at most 8)"},
           // text
           {2, "", "0: the formula is empty (0 is written '0')"},
           {2, "u +", "3: the formula ends after '+' (a value is expected)"},
           {2, "u = 3",
            "2: '=' is not used in formulas (equality is written with two signs); did "
            "you mean '=='?"},
           {2, "\u2207u",
            "0: '\u2207' is not used in formulas (operators have names); did you mean 'grad(u)'?"},
           {2, "2*\u2207\u00b2u",
            "2: '\u2207\u00b2' is not used in formulas (operators have names); did you mean "
            "'laplace(u)'?"},
           {2, "\u03b1*u", "0: '\u03b1' is not used in formulas (formulas are plain ASCII)"},
           {2, "{u}",
            "0: '{' is not used in formulas (only round parentheses group); did you mean "
            "'('?"},
       }) {
    std::string const faults = faults_of(text_of(dims, std::string(text), "q"));
    EXPECT_EQ(faults, message.empty() ? "" : "u " + std::string(message)) << text;
  }
}

TEST(LanguageFaults, WhatStandsForItselfIsRefusedOnce) {
  SystemText text = text_of(2, "a");
  text.lets = {{"a", {"b + 1"}}, {"b", {"2*c"}}, {"c", {"a"}}};
  EXPECT_EQ(faults_of(text), "c 0: 'a' stands for itself (one needs the next: a, b, c, a)");
  text.lets = {{"a", {"dt(u)"}}};
  EXPECT_EQ(faults_of(text), "u 0: 'a' stands for itself (one needs the next: a, dt(u), a)");
  text.lets = {};
  text.equations = {
      {{"u", {"dt(v)"}}, false}, {{"v", {"dt(w)"}}, false}, {{"w", {"dt(u)"}}, false}};
  EXPECT_EQ(faults_of(text),
            "w 0: 'dt(u)' stands for itself (one needs the next: dt(u), dt(v), dt(w), dt(u))");
  text.lets.clear();
  for (int k = 0; k < 40; ++k)
    text.lets.push_back({"l" + std::to_string(k), {"l" + std::to_string((k + 1) % 40)}});
  text.equations = {{{"u", {"0"}}, false}};
  EXPECT_EQ(faults_of(text),
            "l39 0: 'l0' stands for itself (one needs the next: l0, l1, l2, l3, l4, l5, ..., l0)");
}

TEST(LanguageFaults, TellsEachFaultOnce) {
  SystemText text = text_of(2, "a + 1");
  text.lets = {{"a", {"1 +"}}, {"b", {"a"}}, {"c", {"2 3"}}};
  text.equations.push_back({{"v", {"sin("}}, false});
  EXPECT_EQ(faults_of(text),
            "a 3: the formula ends after '+' (a value is expected)\n"
            "c 2: an operator is missing between '2' and '3' (multiplication is written out)\n"
            "v 4: the formula ends after '(' (a value is expected)");
}

TEST(LanguageFaults, IsBounded) {
  SystemText text = text_of(1, "l200");
  text.lets = {{"l0", {"u + x"}}};
  for (int k = 1; k <= 200; ++k) {
    std::string const before = "l" + std::to_string(k - 1);
    text.lets.push_back({"l" + std::to_string(k), {"sin(" + before + "*" + before + ")"}});
  }
  System const doubling = read(text);  // a tree of 2^200 parts
  EXPECT_LT(doubling.terms.size(), 500u);
  EXPECT_LE(to_text(doubling)[0].size(), max_printed + 20);

  std::ranges::reverse(text.lets);
  EXPECT_EQ(read(text).terms.size(), doubling.terms.size()) << "whatever the order of the names";

  std::string many = "u";
  for (int k = 0; k < 2047; ++k) many += "+u";
  EXPECT_EQ(faults_of(text_of(1, many)), "");
  EXPECT_EQ(faults_of(text_of(1, many + "+u")),
            "u 4095: the formula is too long (at most 4096 numbers, variables and operations)");
  std::string const deep(201, '(');
  EXPECT_EQ(faults_of(text_of(1, deep)),
            "u 201: the formula is nested too deeply (at most 200 "
            "levels)");

  text.lets.clear();  // all different, 1400 terms each
  for (int k = 0; k < 60; ++k) {
    std::string sum = "u";
    for (int i = 0; i < 1400; ++i) sum += "+" + std::to_string(10'000 * k + i);
    text.lets.push_back({"l" + std::to_string(k), {sum}});
  }
  text.equations[0].texts = {"u"};
  std::string const faults = faults_of(text);
  EXPECT_NE(faults.find("the system has more than 65536 terms"), std::string::npos) << faults;
}

}  // namespace
}  // namespace gridstride::equations
