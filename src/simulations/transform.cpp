// A chain of steps over data of one shape, in files or by formulas: formulas of the arrays there
// are, filters, differences, scans, selections; and numbers that are found in what comes out. The
// data go through the device in chunks of rows, whose size does not change a bit of the results.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "core/buffer.hpp"
#include "core/rank_failures.hpp"
#include "core/ranks.hpp"
#include "kernels/families.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/out_of_core.hpp"
#include "model/reading.hpp"
#include "simulations/transform_endings.hpp"
#include "simulations/transform_engine.hpp"
#include "simulations/transform_finder.hpp"
#include "simulations/transform_plan.hpp"
#include "simulations/transform_ranks.hpp"
#include "simulations/transform_report.hpp"

namespace gridstride {

namespace {

using transform::Plan;

MemoryForecast transform_memory(config::RunConfig const& run, Inputs const& inputs,
                                Backend backend) {
  Device const device = Device::open(backend, run.device.ordinal);
  Plan const plan(run, inputs, device);
  std::size_t const bytes = size_of(run.precision);
  auto const values = static_cast<std::size_t>(plan.chain.grid().size());
  MemoryForecast forecast{.array_bytes = values * bytes,
                          .arrays = 0,
                          .array_name = "the data",
                          .key = "input",
                          .field_bytes = values * bytes};
  forecast.other_bytes = plan.device_bytes();
  forecast.host_bytes = plan.host_bytes();
  if (run.ranks > 1) {
    forecast.rank_bytes = plan.device_bytes();
    forecast.ranks_beside = ranks_together(run, device) - 1;
  }
  for (auto const& field : run.fields)
    if (!plan.keeps && plan.chain.has(field.name)) forecast.streamed.push_back(field.name);
  for (std::size_t i = 0; i < plan.endings.all.size(); ++i)
    if (!plan.endings.memory[i].kept) forecast.streamed.push_back(plan.endings.all[i].name);
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
  void tell_headway(std::function<void(Headway const&)> tell) override { tell_ = std::move(tell); }

 private:
  struct Array {
    std::string name;
    int place;
    Buffer<T> values;  ///< none where it goes to files chunk by chunk
  };

  void take_memory(Inputs const& inputs);
  void compute() override;
  void pass(transform::PassWork<T>& work);
  void write_on_ranks(transform::PassWork<T>& work);
  /// What a pass tells of itself, of so many.
  std::function<void(double)> teller(int pass, int passes) const;

  Plan plan_;
  OwnPlaces::Open open_places_;
  std::string writing_;  ///< who writes the rows of ranks, in words
  std::vector<Array> wanted_;
  std::vector<Written> written_;
  transform::Finders<T> finders_;
  std::vector<transform::FieldMaker<T>*> makers_;  ///< those of the finders that are for endings
  transform::Resident<T> resident_;
  std::optional<transform::Engine<T>> engine_;
  PipelineReport report_;  ///< of all passes
  std::function<void(Headway const&)> tell_;
};

/// All ranks plan before any of them takes memory.
Plan plan_of(config::RunConfig const& run, Inputs const& inputs, Device const& device) {
  std::optional<Plan> plan;
  transform::require_same_files(ranks(), run);
  fail_together(ranks(), [&] { plan.emplace(run, inputs, device); });
  return std::move(*plan);
}

template <class T>
Transform<T>::Transform(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : OneShot(stream, {"compute"}),
      plan_(plan_of(run, inputs, stream.device())),
      open_places_(inputs.open_places) {
  fail_together(ranks(), [&] { take_memory(inputs); });
}

template <class T>
void Transform<T>::take_memory(Inputs const& inputs) {
  auto const& chain = plan_.chain;
  auto const buffer = [&](int place, std::int64_t rows) {
    return Buffer<T>(stream_, MemorySpace::device,
                     static_cast<std::size_t>(rows * chain.width(place)));
  };
  for (auto const& name : plan_.wanted) {
    int const place = chain.place_of(name);
    std::int64_t const rows =
        ranks().is_first() ? chain.rows(place) : chain.own(place, chain.share()).count();
    wanted_.push_back({name, place, plan_.keeps ? buffer(place, rows) : Buffer<T>()});
    if (plan_.keeps) zero_async(wanted_.back().values.span(), stream_);
  }
  finders_ = transform::make_finders<T>(stream_, chain, plan_.sought);
  auto const& endings = plan_.endings;
  for (std::size_t e = 0; e < endings.all.size(); ++e) {
    auto const* moments = transform::moments_at(finders_, endings.all[e].of);
    auto maker =
        transform::make_field<T>(stream_, chain, endings.all[e], endings.memory[e], *moments);
    makers_.push_back(maker.get());
    finders_.all.push_back(std::move(maker));
  }
  for (auto const& table : plan_.picked)
    finders_.all.push_back(transform::make_select<T>(stream_, chain, table,
                                                     plan_.most_picked(table), plan_.table_bytes));
  for (std::size_t l = 0; l < plan_.resident.size(); ++l)
    resident_.values.push_back(buffer(static_cast<int>(l), plan_.resident[l].count()));
  resident_.rows = plan_.resident;
  resident_.filled.resize(plan_.resident.size());
  for (int const place : plan_.whole) {
    auto const& work = std::get<transform::FromFile>(chain.link(place).work);
    auto& values = resident_.values[static_cast<std::size_t>(place)];
    read_numbers<T>(stream_, *work.source, inputs, values.span());
    resident_.filled[static_cast<std::size_t>(place)] = {0, chain.rows(place)};
  }
  engine_.emplace(stream_, chain, plan_.load, plan_.cut, plan_.files, resident_,
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
  for (auto const& finder : finders_.all)
    std::ranges::copy(finder->numbers(), std::back_inserter(all));
  std::ranges::copy(transform::report_seconds(report_), std::back_inserter(all));
  return all;
}

template <class T>
std::vector<Table> Transform<T>::tables() const {
  std::vector<Table> all;
  for (auto const& finder : finders_.all)
    std::ranges::copy(finder->tables(), std::back_inserter(all));
  return all;
}

template <class T>
std::vector<NamedText> Transform<T>::chosen() const {
  auto texts = transform::report_texts(plan_.cut, report_);
  if (auto const kept = plan_.kept_text(); !kept.empty())
    texts.insert(texts.begin() + 1, {"kept for later passes", kept});
  if (auto const& shares = plan_.chain.shares(); shares.several())
    texts.insert(texts.begin(),
                 {"ranks", fmt::format("{}, of {} rows up to {} each", ranks().count(),
                                       shares.cuts.back(), shares.rows(0).count())});
  if (!writing_.empty()) texts.push_back({"written by", writing_});
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

template <class T>
std::function<void(double)> Transform<T>::teller(int pass, int passes) const {
  if (!tell_) return {};
  double bytes = 0;
  for (std::size_t l = 0; l < plan_.files.size(); ++l)
    if (plan_.files[l])
      bytes += static_cast<double>(plan_.chain.link(static_cast<int>(l)).grid.size()) *
               plan_.load.stored_bytes[l];
  if (bytes == 0)
    bytes = static_cast<double>(plan_.chain.grid().size()) *
            static_cast<double>(plan_.load.value_bytes);
  return [this, bytes, part = fmt::format("pass {} of {}", pass, passes)](double share) {
    tell_({part, share, share * bytes});
  };
}

/// One pass, of several ranks each over its rows.
template <class T>
void Transform<T>::pass(transform::PassWork<T>& work) {
  bool const is_written = !plan_.load.written.empty() && report_.stages.empty();
  fail_together(ranks(), [&] {
    if (is_written && plan_.chain.shares().several())
      write_on_ranks(work);
    else
      report_ += engine_->run(work);
  });
}

/// Each by itself, or where they cannot the first one what comes from all.
template <class T>
void Transform<T>::write_on_ranks(transform::PassWork<T>& work) {
  auto const write_by = [&](auto& way) {
    work.written = way.written();
    way.during([&] { report_ += engine_->run(work); });
  };
  OwnPlaces own(ranks(), work.written, open_places_);
  writing_ = own.lacking().empty() ? "each rank its rows"
                                   : fmt::format("the first rank ({})", own.lacking());
  if (own.lacking().empty()) return write_by(own);
  transform::HandOver hand_over(ranks(), stream_.device(), plan_.load.written, work.written);
  write_by(hand_over);
}

/// The first pass makes what is kept or written, and keeps what there is room for; those after it
/// find what reductions still look for.
template <class T>
void Transform<T>::compute() {
  times_.measure("compute", [this] {
    transform::PassWork<T> work;
    for (auto& array : wanted_) {
      work.places.push_back(array.place);
      if (plan_.keeps)
        work.kept.push_back({array.place, array.values.data(),
                             plan_.chain.own(array.place, plan_.chain.share()).first});
    }
    for (std::size_t l = 0; l < plan_.resident.size(); ++l)
      if (plan_.resident[l] != resident_.filled[l]) work.places.push_back(static_cast<int>(l));
    work.written = written_;
    work.picks = !plan_.picked.empty();
    for (auto* maker : makers_)
      std::ranges::copy(maker->brought(), std::back_inserter(work.written));
    // In the order of the places, so that an array with two targets comes over once.
    std::ranges::stable_sort(work.written, {}, &Written::place);
    for (int pass = 1;; ++pass) {
      std::vector<transform::Finder<T>*> looking;
      int more = 1;
      for (auto const& finder : finders_.all) {
        auto const places = finder->places();
        if (!places.empty()) looking.push_back(finder.get());
        work.places.insert(work.places.end(), places.begin(), places.end());
        more = std::max(more, finder->passes());
      }
      if (work.places.empty()) break;
      if (!looking.empty())
        work.take = [&](auto& worker, auto const& chunk) {
          for (auto* finder : looking) finder->take(worker, chunk);
        };
      work.tell = teller(pass, pass - 1 + more);
      this->pass(work);
      for (auto* finder : looking) finder->end_pass(stream_);
      work = {};
    }
    if (plan_.keeps && plan_.chain.shares().several())
      for (auto& array : wanted_)
        transform::gather<T>(stream_, ranks(), plan_.chain.cuts(array.place), array.values.span());
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
  info.has_own_results = true;
  info.takes_ranks = true;
  info.variables = std::span(expression::space_and_time).first(3);
  return entry<Transform, transform::Parameters>(
      {.info = info, .memory = transform_memory, .problems = transform::problems});
}

}  // namespace gridstride
