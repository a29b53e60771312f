#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "equations/discretise.hpp"
#include "equations/language.hpp"
#include "equations/operators.hpp"
#include "equations/source.hpp"
#include "equations/text.hpp"
#include "support/replaced.hpp"

namespace gridstride::equations {
namespace {

constexpr std::array<std::string_view, 60> words = {"u",
                                                    "v",
                                                    "q",
                                                    "q.x",
                                                    "q.y",
                                                    "w",
                                                    "x",
                                                    "y",
                                                    "z",
                                                    "t",
                                                    "pi",
                                                    "k",
                                                    "1",
                                                    "0",
                                                    "2.5",
                                                    "-",
                                                    "+",
                                                    "*",
                                                    "/",
                                                    "^",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    ",",
                                                    "<",
                                                    "==",
                                                    ".",
                                                    ".x",
                                                    "1e-3",
                                                    "if(",
                                                    "sin(",
                                                    "min(",
                                                    "div(",
                                                    "dt(",
                                                    "grad(",
                                                    "laplace(",
                                                    "dot(",
                                                    "diff(",
                                                    "outer(",
                                                    "curl(",
                                                    "norm(",
                                                    "d2_dxdy(",
                                                    "identity",
                                                    "1e308",
                                                    "1e-320",
                                                    "1e999",
                                                    "99999999999999999999",
                                                    "0x1F",
                                                    "1.5.2",
                                                    "mean(",
                                                    "uniform(",
                                                    "noise(",
                                                    "-1",
                                                    "\u2207\u00b2",
                                                    "\u2202",
                                                    "\u00b2",
                                                    "\u2212",
                                                    "\xff",
                                                    "\xe2\x88"};

class Samples {
 public:
  /// An equation of that rank that is right, most of the time.
  std::string expression(int rank, int depth) {
    if (depth == 0 || below(6) == 0) return leaf(rank);
    auto const a = [&](int of_rank) { return expression(of_rank, depth - 1); };
    if (rank == 0) return scalar(a);
    if (rank == 2) return below(2) ? "outer(" + a(1) + ", " + a(1) + ")" : "grad(" + a(1) + ")";
    switch (below(8)) {
      case 0:
        return "(" + a(1) + " + " + a(1) + ")";
      case 1:
        return "(" + a(0) + ")*" + a(1);
      case 2:
        return "[" + a(0) + ", " + a(0) + "]";
      case 3:
        return "grad(" + a(0) + ")";
      case 4:
        return "div(" + a(2) + ")";
      case 5:
        return "-(" + a(1) + ")";
      case 6:
        return "laplace(" + a(1) + ")";
      default:
        return "if(" + a(0) + " < 1, " + a(1) + ", " + a(1) + ")";
    }
  }

  std::string noise() {
    std::string text;
    for (int n = 1 + below(24); n > 0; --n) {
      text += words[static_cast<std::size_t>(below(std::ssize(words)))];
      if (below(3) == 0) text += ' ';
    }
    return text;
  }

  /// A few characters taken out, doubled, swapped or replaced.
  std::string mutated(std::string text) {
    for (int n = 1 + below(3); n > 0 && !text.empty(); --n) {
      auto const place = static_cast<std::size_t>(below(static_cast<int>(text.size())));
      switch (below(4)) {
        case 0:
          text.erase(place, 1);
          break;
        case 1:
          text.insert(place, 1, text[place]);
          break;
        case 2:
          text[place] = static_cast<char>(below(256));
          break;
        default:
          text.insert(place, words[static_cast<std::size_t>(below(std::ssize(words)))]);
      }
    }
    return text;
  }

  int below(std::ptrdiff_t n) {
    return std::uniform_int_distribution<int>(0, static_cast<int>(n) - 1)(engine_);
  }

 private:
  std::string leaf(int rank) {
    constexpr std::string_view scalars[] = {"u", "v", "q.x", "q.y", "x", "y", "t", "2", "k", "0.5"};
    if (rank == 0) return std::string(scalars[below(10)]);
    if (rank == 1) return below(2) ? "q" : "[u, x]";
    return "identity";
  }

  template <class A>
  std::string scalar(A const& a) {
    constexpr std::string_view calls[] = {"sin(",  "exp(",  "tanh(",    "sqrt(",    "abs(",
                                          "d_dx(", "d_dy(", "laplace(", "d2_dxdy(", "d2_dy2("};
    switch (below(12)) {
      case 0:
        return a(0) + " + " + a(0);
      case 1:
        return a(0) + " - (" + a(0) + ")";
      case 2:
        return "(" + a(0) + ")*(" + a(0) + ")";
      case 3:
        return "(" + a(0) + ")/(" + a(0) + ")";
      case 4:
        return "(" + a(0) + ")^2";
      case 5:
        return "-" + a(0);
      case 6:
        return "div(" + a(1) + ")";
      case 7:
        return "dot(" + a(1) + ", " + a(1) + ")";
      case 8:
        return "advect(" + a(1) + ", " + a(0) + ")";
      case 9:
        return "curl(" + a(1) + ")";
      case 10:
        return "max(" + a(0) + ", " + a(0) + ", " + a(0) + ")";
      default:
        return std::string(calls[below(10)]) + a(0) + ")";
    }
  }

  std::mt19937 engine_{20261122};
};

SystemText system_of(std::string const& of_u, std::string const& of_v) {
  SystemText text;
  text.dims = 2;
  text.constants = {{"k", 0.06}};
  text.lets = {{"w", {"u^2 + v"}}};
  text.equations = {{{"u", {of_u}}, false}, {{"v", {of_v}}, false}, {{"q", {"q"}}, true}};
  return text;
}

/// The system, after a look at what is wrong with it.
std::optional<System> looked_at(SystemText const& text) {
  std::vector<SystemFault> faults;
  std::optional<System> system = read_system(text, faults);
  EXPECT_EQ(system.has_value(), faults.empty());
  for (SystemFault const& fault : faults) {
    Definition const& definition =
        fault.in_equation ? text.equations[fault.definition] : text.lets[fault.definition];
    std::string const& written = definition.texts[*fault.text];
    EXPECT_LE(fault.error.position(), written.size()) << written;
    EXPECT_LT(std::string_view(fault.error.what()).size(), 400u) << written;
  }
  EXPECT_LE(system ? system->terms.size() : 0, max_terms);
  return system;
}

TEST(HostileEquations, WhatIsUnderstoodReadsBack) {
  Samples samples;
  int read_back = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string const text = samples.expression(0, 1 + i % 6);
    auto const system = looked_at(system_of(text, "0"));
    if (!system) continue;
    std::string const understood = to_text(*system, system->rates[0]);
    if (understood.find("...") != std::string::npos) continue;
    auto const both = looked_at(system_of(text, understood));
    ASSERT_TRUE(both) << text << "\n" << understood;
    EXPECT_EQ(both->rates[0], both->rates[1]) << text << "\n" << understood;
    ++read_back;
  }
  EXPECT_GT(read_back, 2000) << "the samples must not be refused for the most part";
}

TEST(HostileEquations, AreReadOrRefused) {
  Samples samples;
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string const text =
        i % 2 == 0 ? samples.noise() : samples.mutated(samples.expression(i % 4 == 1, 3));
    auto const system = looked_at(system_of(text, "w"));
    if (system) to_text(*system);
    refused += system ? 0 : 1;
  }
  EXPECT_GT(refused, 3000);
  EXPECT_LT(refused, 6000);
}

/// The compiler sees the tree and nothing of the text: names that mean something to it, and the
/// numbers of arrays, make the same source.
TEST(HostileEquations, NothingOfTheTextReachesTheCompiler) {
  constexpr std::array<std::array<char const*, 2>, 5> names = {
      {{"u", "asm"}, {"v", "return0"}, {"q", "__global__"}, {"w", "blockIdx"}, {"k", "template"}}};
  auto const renamed = [&](std::string text) {
    for (auto const& [name, other] : names)
      text = gridstride::test::replaced(text, std::string("\\b") + name + "\\b", other);
    return text;
  };
  Samples samples;
  int same = 0;
  for (int i = 0; i < 600; ++i) {
    std::string const of_u = samples.expression(0, 1 + i % 4);
    SystemText const plain = system_of(of_u, "w");
    SystemText other = plain;
    other.constants = {{"template", 0.06}};
    other.lets[0].name = "blockIdx";
    for (std::size_t e = 0; e < 3; ++e) {
      other.equations[e].name = names[e][1];
      other.equations[e].texts[0] = renamed(plain.equations[e].texts[0]);
    }
    other.lets[0].texts[0] = renamed(plain.lets[0].texts[0]);
    auto const one = looked_at(plain), two = looked_at(other);
    ASSERT_EQ(one.has_value(), two.has_value()) << of_u;
    if (!one) continue;
    auto const source = [](System const& system) {
      Grid const grid{.dims = 2, .points = {64, 64, 1}, .origin = {}, .spacing = {0.1, 0.2, 1}};
      Stencil const stencil = discretise(system, grid);
      return to_cuda(program_of(stencil.terms, stencil.rates, 2), Precision::float64);
    };
    try {
      EXPECT_EQ(source(*one), source(*two)) << of_u;
      ++same;
    } catch (Error const&) {
      EXPECT_THROW(source(*two), Error) << of_u;  // too wide, or too long
    }
  }
  EXPECT_GT(same, 300);
}

/// What is nested deeper than a stack may be, closed or not, is refused at some place in it.
TEST(HostileEquations, DeepNestsAreRefused) {
  struct Nest {
    std::string opening, closing;
  };
  for (auto const& [opening, closing] :
       {Nest{"(", ")"}, Nest{"[", "]"}, Nest{"-", ""}, Nest{"sin(", ")"}, Nest{"laplace(", ")"},
        Nest{"mean(u*", ")"}, Nest{"if(u < 1, ", ", u)"}, Nest{"grad(", ")"}, Nest{"u^", ""},
        Nest{"diff(", ", u)"}, Nest{"outer(q, ", ")"}, Nest{"2*(u + ", ")"}})
    for (int const depth : {201, 5000}) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += opening;
      EXPECT_FALSE(looked_at(system_of(text, "0"))) << opening;
      text += "u";
      for (int i = 0; i < depth; ++i) text += closing;
      EXPECT_FALSE(looked_at(system_of(text, "0"))) << opening;
    }
}

/// Numbers at the ends of their range, which rules of algebra and calculus may leave.
TEST(HostileEquations, HugeNumbersAreReadOrRefused) {
  constexpr std::string_view numbers[] = {"1e308", "5e-324", "-1e308", "1e-308",
                                          "1e154", "0",      "1e400"};
  int read = 0;
  for (std::string_view const a : numbers)
    for (std::string_view const b : numbers)
      for (std::string_view const with : {" + ", " - ", "*", "/", "^", " < "}) {
        std::string const both =
            "(" + std::string(a) + ")" + std::string(with) + "(" + std::string(b) + ")";
        for (std::string const& text :
             {both, "u*" + both, "laplace(" + both + "*u)", "diff(" + both + "*u^3, u)"}) {
          auto const system = looked_at(system_of(text, "0"));
          read += system ? 1 : 0;
          if (system) to_text(*system);
        }
      }
  EXPECT_GT(read, 300);
}

TEST(HostileEquations, ChainsOfNamesCostNoStack) {
  SystemText text = system_of("l0", "0");
  std::string const opening(190, '('), closing(190, ')');
  text.lets.clear();
  for (int k = 0; k < 256; ++k)
    text.lets.push_back(
        {"l" + std::to_string(k),
         {opening + "l" + std::to_string(k + 1) + closing + " + " + std::to_string(k)}});
  text.lets.push_back({"l256", {"u"}});
  EXPECT_TRUE(looked_at(text));
}

}  // namespace
}  // namespace gridstride::equations
