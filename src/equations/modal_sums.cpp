#include "equations/modal_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gridstride::equations {
namespace {

template <class T>
int place_among(std::vector<T>& all, T const& one) {
  auto const known = std::ranges::find(all, one);
  if (known != all.end()) return static_cast<int>(known - all.begin());
  all.push_back(one);
  return static_cast<int>(all.size()) - 1;
}

constexpr char const* not_alike =
    "it has parts that are odd beyond a side where others are even, or where it has to be "
    "(sines between Dirichlet sides, cosines between Neumann ones, and a derivative makes one of "
    "the other; 'space: {derivatives: differences}' takes it)";

}  // namespace

int ModalSums::product(ModalProduct const& one) { return place_among(products, one); }
int ModalSums::denominator(Operator const& one) { return place_among(denominators, one); }

OperatorSum ModalSums::sum_of(Form const& form, BeyondSides const& sides) {
  OperatorSum sum;
  for (auto const& [derived, coefficient] : form.linear) {
    auto const field = static_cast<std::size_t>(derived.component);
    if (differentiated(field_sides.at(field), derived.orders) != sides) throw Error(not_alike);
    if (derived.component >= components)
      add_to(sum, held.at(field - static_cast<std::size_t>(components)), coefficient,
             derived.orders);
    else
      add_to(sum[{false, derived.component, -1}], {{Orders{}, 1.0}}, coefficient, derived.orders);
  }
  for (auto const& [derived, coefficient] : form.products) {
    BeyondSides const own = differentiated(sides, derived.orders);
    if (!fits(product_sides.at(derived.product), own)) throw Error(not_alike);
    add_to(sum[{true, product({derived.product, own}), -1}], {{Orders{}, 1.0}}, coefficient,
           derived.orders);
  }
  std::erase_if(sum, [](auto const& one) { return one.second.empty(); });
  return sum;
}

void add_to(OperatorSum& sum, OperatorSum const& other, double factor, Orders const& orders) {
  for (auto const& [of, what] : other) {
    add_to(sum[of], what, factor, orders);
    if (sum[of].empty()) sum.erase(of);
  }
}

OperatorSum multiplied(OperatorSum const& sum, Operator const& by) {
  OperatorSum result;
  for (auto const& [orders, coefficient] : by) add_to(result, sum, coefficient, orders);
  return result;
}

}  // namespace gridstride::equations
