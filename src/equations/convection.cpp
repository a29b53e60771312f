#include "equations/convection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "equations/blocks.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;

class Splitter {
 public:
  explicit Splitter(System const& system)
      : system_(system),
        size_(system.rates.size()),
        split_{system.terms, {}, {}, {}, {}},
        terms_(split_.terms) {
    for (std::size_t c = 0; c < size_; ++c) {
      variables_.push_back(terms_.unknown(static_cast<int>(c)));
      fluxes_.emplace_back().fill(-1);
    }
    for (std::size_t c = 0; c < size_; ++c) split_rate(c, system.rates[c]);
    for (int axis = 0; axis < system.dims; ++axis) add_fluxes(axis);
    find_families();
    couple();
  }

  SplitSystem take() { return std::move(split_); }

 private:
  struct Part {
    Term term;
    double factor;
  };

  /// A term as a sum of parts with factors. A part may stand in it in many places, so it is taken
  /// up once, after all that it is an operand of.
  std::vector<Part> parts_of(Term root) const {
    std::map<Term, double> waiting = {{root, 1}};
    std::vector<Part> found;
    while (!waiting.empty()) {
      auto const [term, factor] = *std::prev(waiting.end());
      waiting.erase(term);
      Node const& node = terms_[term];
      auto const [a, b, c] = node.operands;
      auto const value = [this](Term of) { return terms_[of].value; };
      bool const operates = node.kind == Kind::operation;
      if (operates && (node.operation == Operation::add || node.operation == Operation::subtract)) {
        waiting[a] += factor;
        waiting[b] += node.operation == Operation::add ? factor : -factor;
      } else if (operates && node.operation == Operation::negate) {
        waiting[a] -= factor;
      } else if (operates && node.operation == Operation::multiply && terms_.is_number(a)) {
        waiting[b] += factor * value(a);
      } else if (operates && node.operation == Operation::multiply && terms_.is_number(b)) {
        waiting[a] += factor * value(b);
      } else if (operates && node.operation == Operation::divide && terms_.is_number(b)) {
        waiting[a] += factor / value(b);
      } else if (factor != 0) {
        found.push_back({term, factor});
      }
    }
    std::ranges::reverse(found);
    return found;
  }

  Term scaled(Term term, double factor) { return terms_.multiply(terms_.number(factor), term); }
  bool is_zero(Term term) const { return terms_.is_number(term) && terms_[term].value == 0; }
  /// A term with what names with sides stand for in it; each needs only those before it.
  Term meaning(Term term) {
    for (int name = system_.name_count(); name-- > 0;)
      if (terms_.contains(term, Kind::name, name))
        term = terms_.substitute(term, terms_.name(name), system_.meaning(name));
    return term;
  }
  bool has_operators(Term term) const {
    return terms_.contains(term, Kind::derivative) || terms_.contains(term, Kind::flux) ||
           terms_.contains(term, Kind::transport);
  }

  void split_rate(std::size_t c, Term rate) {
    Term rest = terms_.number(0);
    auto const leave = [&](Term term, double factor) {
      rest = terms_.add(rest, scaled(term, factor));
    };
    for (auto const& [term, factor] : parts_of(rate)) {
      Node const node = terms_[term];
      if (node.kind == Kind::flux) {
        Term& flux = fluxes_[c][static_cast<std::size_t>(node.index)];
        for (auto const& [part, share] : parts_of(node.operands[0]))
          if (Term const whole = meaning(part);
              !terms_.contains(whole, Kind::unknown) || has_operators(whole))
            leave(terms_.flux(part, node.index), factor * share);
          else
            flux = flux < 0 ? scaled(part, -factor * share)
                            : terms_.add(flux, scaled(part, -factor * share));
      } else if (node.kind == Kind::transport && is_own(meaning(node.operands[1]), c)) {
        Term const velocity = scaled(node.operands[0], factor), of = node.operands[1];
        Term const slope = terms_.partial(meaning(of), variables_[c]);
        if (is_zero(slope))
          leave(term, factor);
        else
          split_.transports.push_back({c, node.index, velocity, of,
                                       terms_.negate(terms_.multiply(velocity, slope)),
                                       has_operators(meaning(velocity))});
      } else {
        leave(term, factor);
      }
    }
    split_.rests.push_back(rest);
  }

  /// Whether a term is made of one component alone, without derivatives.
  bool is_own(Term term, std::size_t c) const {
    for (std::size_t other = 0; other < size_; ++other)
      if ((other == c) != terms_.contains(term, Kind::unknown, static_cast<int>(other)))
        return false;
    return !has_operators(term);
  }

  Term larger(Term a, Term b) {
    if (a == b || is_zero(b)) return a;
    return is_zero(a) ? b : terms_.operation(Operation::max, a, b);
  }

  /// The fluxes along an axis with their speeds; those without one stay what they were.
  void add_fluxes(int axis) {
    std::vector<Term> jacobian(size_ * size_, terms_.number(0));
    std::vector<char> acts(size_ * size_, 0);
    auto const flux = [&](std::size_t c) { return fluxes_[c][static_cast<std::size_t>(axis)]; };
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_ && flux(i) >= 0; ++j) {
        jacobian[i * size_ + j] =
            terms_.with_zeros_at_poles(terms_.partial(meaning(flux(i)), variables_[j]));
        acts[i * size_ + j] = !is_zero(jacobian[i * size_ + j]);
      }
    close(size_, acts);
    std::vector<Term> speeds(size_, terms_.number(0));
    for (auto const& block : blocks_of(size_, acts)) {
      Term const speed = speed_of(block, jacobian);
      for (std::size_t c = 0; c < size_; ++c)
        if (c == block.front() || acts[c * size_ + block.front()])
          speeds[c] = larger(speeds[c], speed);
    }
    // Fluxes need their roundings, a bound does not.
    for (Term& speed : speeds) speed = terms_.with_reciprocals(speed);
    for (std::size_t c = 0; c < size_; ++c) {
      if (flux(c) < 0) continue;
      if (is_zero(speeds[c]))
        split_.rests[c] = terms_.subtract(split_.rests[c], terms_.flux(flux(c), axis));
      else
        split_.fluxes.push_back({c, axis, flux(c), speeds[c], c});
    }
  }

  Term speed_of(std::vector<std::size_t> const& block, std::vector<Term> const& jacobian) {
    auto const entry = [&](std::size_t i, std::size_t j) {
      return jacobian[block[i] * size_ + block[j]];
    };
    std::size_t const n = block.size();
    if (n == 1) return terms_.operation(Operation::abs, entry(0, 0));
    double const share = 1 / static_cast<double>(n);
    Term trace = terms_.number(0), variance = terms_.number(0);
    for (std::size_t i = 0; i < n; ++i) trace = terms_.add(trace, entry(i, i));
    Term const mean = scaled(trace, share);
    auto const root = [&](Term square) {
      return terms_.operation(Operation::sqrt,
                              terms_.operation(Operation::max, terms_.number(0), square));
    };
    if (n == 2) {  // both diagonal entries lie as far from their mean
      Term const distance = terms_.subtract(entry(0, 0), mean);
      return terms_.add(terms_.operation(Operation::abs, mean),
                        root(terms_.add(terms_.multiply(entry(0, 1), entry(1, 0)),
                                        terms_.multiply(distance, distance))));
    }
    // tr A² − tr²A/n, where large parts would cancel, is Σ (A_ii − m)² + 2·Σ A_ij·A_ji.
    for (std::size_t i = 0; i < n; ++i) {
      Term const distance = terms_.subtract(entry(i, i), mean);
      variance = terms_.add(variance, terms_.multiply(distance, distance));
      for (std::size_t j = 0; j < i; ++j)
        variance = terms_.add(variance, scaled(terms_.multiply(entry(i, j), entry(j, i)), 2));
    }
    return terms_.add(terms_.operation(Operation::abs, mean),
                      scaled(root(scaled(variance, share)), std::sqrt(static_cast<double>(n - 1))));
  }

  /// Which components act on each other by convective fluxes along any axis.
  void find_families() {
    convected_.assign(size_ * size_, 0);
    for (auto const& one : split_.fluxes)
      for (std::size_t j = 0; j < size_; ++j)
        if (!is_zero(terms_.partial(meaning(one.flux), variables_[j])))
          convected_[one.component * size_ + j] = 1;
    close(size_, convected_);
    for (auto const& block : blocks_of(size_, convected_))
      for (auto& flux : split_.fluxes)
        if (std::ranges::find(block, flux.component) != block.end()) flux.family = block.front();
  }

  void couple() {
    std::vector<char> acts = convected_;
    auto const add = [&](std::size_t c, Term of) {
      Term const term = meaning(of);
      for (std::size_t j = 0; j < size_; ++j)
        if (terms_.contains(term, Kind::unknown, static_cast<int>(j))) acts[c * size_ + j] = 1;
    };
    for (std::size_t c = 0; c < size_; ++c) add(c, split_.rests[c]);
    for (auto const& one : split_.transports) add(one.component, one.velocity);
    close(size_, acts);
    for (auto const& one : split_.fluxes)
      for (std::size_t j = 0; j < size_; ++j) {
        std::size_t const back = j * size_ + one.component;
        if (j == one.component || convected_[back] || !acts[back]) continue;
        Term const slope = terms_.partial(meaning(one.flux), variables_[j]);
        if (!is_zero(slope)) split_.couplings.push_back({one.component, j, one.axis, slope});
      }
  }

  System const& system_;
  std::size_t size_;
  SplitSystem split_;
  Terms& terms_;
  std::vector<Term> variables_;
  std::vector<std::array<Term, 3>> fluxes_;  // of each component and axis; -1: none
  std::vector<char> convected_;
};

}  // namespace

SplitSystem split_convection(System const& system) { return Splitter(system).take(); }

bool has_convection(System const& system) {
  auto const split = split_convection(system);
  return !split.fluxes.empty() || !split.transports.empty();
}

}  // namespace gridstride::equations
