#include "simulations/transform_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gridstride::transform {

std::vector<NamedText> report_texts(Cut const& cut, PipelineReport const& report) {
  auto const& stages = report.stages;
  std::vector<NamedText> texts = {
      {"chunks", fmt::format("{} rows, {} at a time", cut.rows, cut.lanes())}};
  if (stages.empty()) return texts;
  auto const longest = std::ranges::max_element(stages, {}, &StageReport::busy_seconds);
  std::string rates;
  for (auto const& stage : stages)
    if (stage.bytes > 0)
      rates += fmt::format("{}{} {:.3g} GB/s", rates.empty() ? "" : ", ", stage.name,
                           stage.rate() / 1e9);
  if (!rates.empty()) texts.push_back({"rates", rates});
  texts.push_back({"bound by", longest->name});
  return texts;
}

std::vector<NamedValue> report_seconds(PipelineReport const& report) {
  std::vector<NamedValue> values;
  for (auto const name : stage_names) {
    auto const stage = std::ranges::find(report.stages, name, &StageReport::name);
    bool const known = stage != report.stages.end();
    values.push_back(
        {.name = fmt::format("seconds.{}", name), .value = known ? stage->busy_seconds : 0});
  }
  return values;
}

}  // namespace gridstride::transform
