#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "equations/discretise.hpp"

/// Results of a program that rise or fall with another value of it.
namespace gridstride::system {

/// What makes a result of a value: negations, sums, differences and products with a number, one after the
/// other. Each rises or falls with what it is made of, rounded or not, so that the extremes of the result
/// are what they make of the extremes of the value, to the bit.
struct Follower {
  struct Link {
    expression::Operation operation;
    double number = 0;
    bool number_is_first = false;
  };

  std::size_t value = 0;  ///< among the results of the program that is left
  std::vector<Link> links = {};

  /// Of the value's least and greatest, in the arithmetic of T.
  template <class T>
  std::pair<T, T> extremes(T least, T greatest) const;
};

/// A program whose results are the values that others follow, each once, with the code and the fused
/// operations of the one before; and what its results were.
struct Followed {
  equations::StencilProgram program;
  std::vector<Follower> results;
};
Followed without_followers(equations::StencilProgram const& program);

}  // namespace gridstride::system
