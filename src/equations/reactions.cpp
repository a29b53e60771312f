#include "equations/reactions.hpp"

#include <cstddef>

namespace gridstride::equations {

Reactions reactions_of(System& system) {
  Terms& terms = system.terms;
  int const components = system.component_count(), names = system.name_count();
  Reactions reactions;
  for (int of = 0; of < components; ++of) {
    std::vector<Term> of_names;  // ∂name/∂component, each from those before it
    auto const slope_of = [&](Term term) {
      Term slope = terms.partial(term, terms.unknown(of));
      for (int name = 0; name < static_cast<int>(of_names.size()); ++name)
        slope = terms.add(slope, terms.multiply(terms.partial(term, terms.name(name)),
                                                of_names[static_cast<std::size_t>(name)]));
      return slope;
    };
    for (int name = 0; name < names; ++name) of_names.push_back(slope_of(system.meaning(name)));
    for (std::size_t row = 0; row < system.rates.size(); ++row) {
      Term const value = slope_of(system.rates[row]);
      if (!terms.is_number(value) || terms[value].value != 0)
        reactions.push_back({row, static_cast<std::size_t>(of), value});
    }
  }
  return reactions;
}

}  // namespace gridstride::equations
