#pragma once

#include <vector>

#include "core/named_value.hpp"
#include "core/pipeline.hpp"
#include "simulations/transform_engine.hpp"

/// What a run tells of the way that its data took.
namespace gridstride::transform {

/// The size of the chunks; once there is a report, the rates of the links and the longest stage.
std::vector<NamedText> report_texts(Cut const& cut, PipelineReport const& report);

/// The time in which each stage had work, 0 for those that there are not.
std::vector<NamedValue> report_seconds(PipelineReport const& report);

}  // namespace gridstride::transform
