#include "kernels/system/followers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "equations/source.hpp"

namespace gridstride::system {

namespace {

using equations::Kind, equations::Node, equations::StencilProgram;
using expression::Operation;

Node const& node_of(StencilProgram const& program, std::int32_t value) {
  return program.code[static_cast<std::size_t>(value)];
}

/// The last link of a value, and what it is made of; nothing where it has none.
std::optional<std::pair<Follower::Link, std::int32_t>> last_link(StencilProgram const& program,
                                                                 std::int32_t value) {
  Node const& node = node_of(program, value);
  if (node.kind != Kind::operation) return {};
  Operation const operation = node.operation;
  if (operation == Operation::negate) return {{{operation}, node.operands[0]}};
  if (operation != Operation::add && operation != Operation::subtract &&
      operation != Operation::multiply)
    return {};
  for (std::size_t which = 0; which < 2; ++which) {
    Node const& number = node_of(program, node.operands[which]);
    bool const is_plain = number.kind == Kind::number && std::isfinite(number.value) &&
                          (operation != Operation::multiply || number.value != 0);
    if (is_plain) return {{{operation, number.value, which == 0}, node.operands[1 - which]}};
  }
  return {};
}

template <class T>
T made_of(Follower::Link const& link, T value) {
  auto const number = static_cast<T>(link.number);
  if (link.operation == Operation::negate) return -value;
  if (link.operation == Operation::add) return value + number;
  if (link.operation == Operation::multiply) return value * number;
  return link.number_is_first ? number - value : value - number;
}

bool falls(Follower::Link const& link) {
  if (link.operation == Operation::multiply) return link.number < 0;
  return link.operation == Operation::negate ||
         (link.operation == Operation::subtract && link.number_is_first);
}

}  // namespace

template <class T>
std::pair<T, T> Follower::extremes(T least, T greatest) const {
  for (Link const& link : links) {
    least = made_of(link, least);
    greatest = made_of(link, greatest);
    if (falls(link)) std::swap(least, greatest);
  }
  return {least, greatest};
}

template std::pair<float, float> Follower::extremes(float, float) const;
template std::pair<double, double> Follower::extremes(double, double) const;

/// What is fused with a product has no rounded value that it follows.
Followed without_followers(StencilProgram const& program) {
  auto const fused = equations::fused_operands(program);
  Followed followed = {program, {}};
  auto& values = followed.program.results;
  values.clear();
  for (std::int32_t value : program.results) {
    Follower& follower = followed.results.emplace_back();
    while (fused[static_cast<std::size_t>(value)] < 0) {
      auto const link = last_link(program, value);
      if (!link) break;
      follower.links.push_back(link->first);
      value = link->second;
    }
    std::ranges::reverse(follower.links);
    auto const known = std::ranges::find(values, value);
    follower.value = static_cast<std::size_t>(known - values.begin());
    if (known == values.end()) values.push_back(value);
  }
  if (equations::fused_operands(followed.program) == fused) return followed;
  followed = {program, {}};  // what is fused depends on what is asked for
  for (std::size_t i = 0; i < program.results.size(); ++i) followed.results.push_back({i, {}});
  return followed;
}

}  // namespace gridstride::system
