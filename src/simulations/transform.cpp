// A chain of steps over data of one shape, in files or by formulas: formulas of the arrays there
// are, filters, differences, scans, selections; and numbers that are found in what comes out. The
// data go through the device in chunks of rows, whose size does not change a bit of the results.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/text.hpp"
#include "kernels/families.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "simulations/transform_endings.hpp"
#include "simulations/transform_engine.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride {

namespace {

using transform::Chain;
using transform::Kept;
using transform::parameters_of;

/// Names of what is written or compared.
std::vector<std::string> wanted_names(config::RunConfig const& run) {
  std::vector<std::string> names;
  if (!run.output.formats.empty()) names = run.output.fields;
  for (auto const& [name, formula] : run.verify.exact)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

/// What a run does to its data, without a device.
struct Plan {
  Chain chain;
  std::vector<int> reduced;              ///< places that the reductions look at
  std::vector<std::string> names;        ///< of what is written or compared
  transform::Endings endings;            ///< those of them
  std::vector<std::string> wanted = {};  ///< those that are arrays
  bool keeps = true;  ///< whether these stay in device memory; else they go to files chunk by chunk
  std::vector<transform::Picked> picked = {};  ///< tables that are written
  transform::Files files = {};                 ///< of each array that comes from one
  transform::Cut cut = {};
  std::size_t resident = 0;  ///< bytes of device memory that such arrays and endings take
  double host_bytes = 0;     ///< that there are

  Plan(config::RunConfig const& run, Inputs const& inputs);

 private:
  /// Settles what is kept beside the chunks.
  void share(config::RunConfig const& run, transform::Load& load);
};

Plan::Plan(config::RunConfig const& run, Inputs const& inputs)
    : chain(run, inputs),
      reduced(append_reduced(chain, parameters_of(run).reductions)),
      names(wanted_names(run)),
      endings(chain, names) {
  auto const& parameters = parameters_of(run);
  constexpr double all = std::numeric_limits<double>::infinity();
  host_bytes = parameters.limits.host_memory.value_or(static_cast<double>(free_host_memory()) / 2);
  transform::Load load;
  load.value_bytes = size_of(run.precision);
  load.device_bytes = parameters.limits.device_memory.value_or(all);
  load.host_bytes = host_bytes;
  load.places = places_of(chain, parameters.reductions, reduced);
  share(run, load);
  for (auto const& table : chain.picked()) {
    if (std::ranges::find(names, table.name) == names.end()) continue;
    picked.push_back(table);
    load.places.insert(load.places.end(), {table.of, table.where});
  }
  for (auto const& link : chain.links()) {
    auto const* file = std::get_if<transform::FromFile>(&link.work);
    files.emplace_back(file != nullptr ? inputs.open(*file->source) : nullptr);
    load.stored_bytes.push_back(file != nullptr ? files.back()->type().bytes : 0);
  }
  chain.fuse(load.places);
  cut = cut_for(chain, parameters.limits, load);
  auto const refuse = [&](std::string_view key, std::string const& problem) {
    throw ConfigError({run.problem(run.location(fmt::format("limits.{}", key)), problem)});
  };
  if (static_cast<double>(endings.host_bytes) > host_bytes)
    refuse("host_memory",
           fmt::format("{} are too little for the {} of values that are sorted, which wait on the "
                       "host",
                       format_bytes(host_bytes),
                       format_bytes(static_cast<double>(endings.host_bytes))));
  auto const require = [&](std::string_view key, std::size_t taken, double there) {
    if (static_cast<double>(taken) > there)
      refuse(key,
             fmt::format("{} are left for chunks, but one line of the data and all that it needs "
                         "takes {}",
                         format_bytes(std::max(there, 0.0)),
                         format_bytes(static_cast<double>(taken))));
  };
  require("device_memory", cut.device_bytes(load.value_bytes), load.device_bytes);
  require("host_memory", cut.host_bytes(load.value_bytes), load.host_bytes);
}

void Plan::share(config::RunConfig const& run, transform::Load& load) {
  std::size_t arrays = 0;
  for (auto const& name : names) {
    if (!chain.has(name)) continue;
    wanted.push_back(name);
    load.written.push_back(chain.place_of(name));
    arrays +=
        static_cast<std::size_t>(chain.link(load.written.back()).grid.size()) * load.value_bytes;
  }
  load.places.insert(load.places.end(), load.written.begin(), load.written.end());
  std::ranges::copy(endings.places(), std::back_inserter(load.places));
  endings.settle(true, run.precision, load.device_bytes);
  // Where all is small, there is little to gain by writing it while it is made.
  constexpr double small = 256 << 20;
  keeps = !run.verify.exact.empty() || static_cast<double>(arrays + endings.device_bytes) <=
                                           std::min(small, load.device_bytes / 2);
  if (keeps)
    load.written.clear();
  else
    endings.settle(false, run.precision, load.device_bytes);
  std::ranges::copy(endings.brought(), std::back_inserter(load.written));
  resident = endings.device_bytes + (keeps ? arrays : 0);
  load.device_bytes -= static_cast<double>(resident);
  load.host_bytes -= static_cast<double>(endings.host_bytes);
}

MemoryForecast transform_memory(config::RunConfig const& run, Inputs const& inputs,
                                Backend backend) {
  Plan const plan(run, inputs);
  std::size_t const bytes = size_of(run.precision);
  auto const values = static_cast<std::size_t>(plan.chain.grid().size());
  MemoryForecast forecast{.array_bytes = values * bytes,
                          .arrays = 0,
                          .array_name = "the data",
                          .key = "input",
                          .field_bytes = values * bytes};
  forecast.other_bytes = plan.resident + plan.cut.device_bytes(bytes);
  if (backend == Backend::cuda)
    forecast.reading_bytes = plan.cut.host_bytes(bytes) + plan.endings.host_bytes;
  else
    forecast.other_bytes += plan.endings.host_bytes;
  for (auto const& field : run.fields) {
    if (!field.own_grid) continue;
    std::int64_t size = 0;  // of tables
    if (plan.chain.has(field.name))
      size = plan.chain.link(plan.chain.place_of(field.name)).grid.size();
    for (auto const& ending : plan.chain.endings())
      if (ending.name == field.name) size = ending.grid.size();
    forecast.own_field_bytes[field.name] = static_cast<std::size_t>(size) * bytes;
  }
  return forecast;
}

template <class T>
class Transform final : public OneShot {
 public:
  Transform(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override;
  std::vector<Table> tables() const override;
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override;
  std::vector<std::string> fallbacks() const override { return engine_->fallbacks(); }
  void write_to(std::vector<FieldTarget> const& targets) override;

 private:
  struct Array {
    std::string name;
    int place;
    Buffer<T> values;  ///< none where it goes to files chunk by chunk
  };

  void compute() override;

  Plan plan_;
  std::vector<Array> wanted_;
  std::vector<transform::Written> written_;
  std::vector<std::unique_ptr<transform::Finder<T>>> finders_;
  std::vector<transform::FieldMaker<T>*> makers_;  ///< those of the finders that are for endings
  std::optional<transform::Engine<T>> engine_;
  PipelineReport report_;  ///< of all passes
};

template <class T>
Transform<T>::Transform(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : OneShot(stream, {"compute"}), plan_(run, inputs) {
  auto const& chain = plan_.chain;
  auto const buffer = [&](int place) {
    return Buffer<T>(stream_, MemorySpace::device,
                     static_cast<std::size_t>(chain.link(place).grid.size()));
  };
  for (auto const& name : plan_.wanted) {
    int const place = chain.place_of(name);
    wanted_.push_back({name, place, plan_.keeps ? buffer(place) : Buffer<T>()});
    if (plan_.keeps)
      zero_async(wanted_.back().values.span(), stream_);
    else
      finders_.push_back(transform::make_finite<T>(stream_, chain, name, place));
  }
  auto const& endings = plan_.endings;
  for (std::size_t e = 0; e < endings.all.size(); ++e) {
    auto maker = transform::make_field<T>(stream_, chain, endings.all[e], endings.memory[e]);
    makers_.push_back(maker.get());
    finders_.push_back(std::move(maker));
  }
  auto const& reductions = parameters_of(run).reductions;
  for (std::size_t r = 0; r < reductions.size(); ++r)
    finders_.push_back(transform::make_finder<T>(stream_, chain, reductions[r], plan_.reduced[r]));
  for (auto const& table : plan_.picked)
    finders_.push_back(transform::make_select<T>(stream_, chain, table, plan_.host_bytes));
  engine_.emplace(stream_, chain, plan_.cut, plan_.files,
                  [inputs, &chain](int place, std::int64_t index, NumberSource const& file) {
                    auto const& work = std::get<transform::FromFile>(chain.link(place).work);
                    inputs.refuse(*work.source, index, number_at(file, index));
                  });
}

template <class T>
std::vector<Field> Transform<T>::fields() const {
  std::vector<Field> fields;
  for (auto const& name : plan_.names) {
    for (auto const& array : wanted_)
      if (array.name == name)
        fields.push_back({name, "1", plan_.chain.link(array.place).grid, precision_of<T>(),
                          array.values.data()});
    for (auto const* maker : makers_)
      if (auto const field = maker->field(); field.name == name) fields.push_back(field);
  }
  return fields;
}

template <class T>
std::vector<NamedValue> Transform<T>::diagnostics() const {
  std::vector<NamedValue> all;
  for (auto const& finder : finders_) std::ranges::copy(finder->numbers(), std::back_inserter(all));
  for (auto const name : transform::stage_names) {
    auto const stage = std::ranges::find(report_.stages, name, &StageReport::name);
    bool const known = stage != report_.stages.end();
    all.push_back(
        {.name = fmt::format("seconds.{}", name), .value = known ? stage->busy_seconds : 0});
  }
  return all;
}

template <class T>
std::vector<Table> Transform<T>::tables() const {
  std::vector<Table> all;
  for (auto const& finder : finders_) std::ranges::copy(finder->tables(), std::back_inserter(all));
  return all;
}

/// How the data went, and what was the longest on the way.
template <class T>
std::vector<NamedText> Transform<T>::chosen() const {
  auto const& stages = report_.stages;
  std::vector<NamedText> texts = {
      {"chunks", fmt::format("{} rows, {} at a time", plan_.cut.rows, plan_.cut.lanes)}};
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

template <class T>
void Transform<T>::write_to(std::vector<FieldTarget> const& targets) {
  for (auto const& [name, sink] : targets) {
    if (plan_.chain.has(name)) written_.push_back({plan_.chain.place_of(name), sink});
    for (auto* maker : makers_)
      if (maker->field().name == name) maker->write_to(*sink);
  }
}

/// The first pass makes what is kept or written; those after it find what reductions still look for.
template <class T>
void Transform<T>::compute() {
  times_.measure("compute", [this] {
    transform::PassWork<T> work;
    for (auto& array : wanted_) {
      work.places.push_back(array.place);
      if (plan_.keeps) work.kept.push_back({array.place, array.values.data()});
    }
    work.written = written_;
    for (auto* maker : makers_)
      std::ranges::copy(maker->brought(), std::back_inserter(work.written));
    // In the order of the places, so that an array with two targets comes over once.
    std::ranges::stable_sort(work.written, {}, &transform::Written::place);
    while (true) {
      std::vector<transform::Finder<T>*> looking;
      for (auto const& finder : finders_) {
        auto const places = finder->places();
        if (!places.empty()) looking.push_back(finder.get());
        work.places.insert(work.places.end(), places.begin(), places.end());
      }
      if (work.places.empty()) break;
      if (!looking.empty())
        work.take = [&](auto& worker, auto const& chunk) {
          for (auto* finder : looking) finder->take(worker, chunk);
        };
      report_ += engine_->run(work);
      for (auto* finder : looking) finder->end_pass(stream_);
      work = {};
    }
    for (auto const* maker : makers_)
      if (auto const report = maker->report(); !report.stages.empty()) report_ += report;
  });
}

}  // namespace

SimulationEntry transform_entry() {
  config::SimulationInfo info;
  info.name = "transform";
  info.summary =
      "a chain of steps over data: formulas, filters, differences; numbers found in them";
  info.fields = {{.name = "NAME", .documentation = "an array of the chain", .any_name = true}};
  info.has_grid = false;
  info.has_time = false;
  info.sides = {};
  info.kernels = {{"evaluate", variant_names("evaluate")}};
  info.has_own_sections = true;
  info.variables = std::span(expression::space_and_time).first(3);
  return entry<Transform, transform::Parameters>(
      {.info = info, .memory = transform_memory, .problems = transform::problems});
}

}  // namespace gridstride
