#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace gridstride::config {

/// In which keys two documents of `resolved_yaml` or `problem_yaml` differ:
/// `time.scheme was ftcs and is rk4`, the first few of them, separated by semicolons; empty when
/// they mean the same. What stands under one of the `ignored` keys does not count; of the `only`
/// keys, where there are any, nothing else does.
std::string describe_changes(std::string_view before, std::string_view after,
                             std::span<std::string_view const> ignored = {},
                             std::span<std::string_view const> only = {});

/// The same of derived fields that both documents have, by other formulas:
/// `output.derived.s was u and is u^2`.
std::string describe_other_formulas(std::string_view before, std::string_view after);

/// The keys of which the documents have other values, or one has none. Of `ignored` as above.
std::set<std::string> changed_keys(std::string_view before, std::string_view after,
                                   std::span<std::string_view const> ignored);

/// What both documents call numbers under `diagnostics` that are not the same ones, by their `name`.
std::set<std::string, std::less<>> other_numbers(std::string_view before, std::string_view after);

}  // namespace gridstride::config
