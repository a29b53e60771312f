// Integrals of samples from files:
//
//   I = Σ_i w_i·f_i        over all axes, or along one of them for each place on the others
//
// with the weights of a rule for samples at equal distances, or of one axis at any. The samples go
// through the device in chunks; they are float64 there, whatever the precision of the results.

#include "simulations/integration_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/reduce/line_integrals.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/integration_positions.hpp"
#include "simulations/integration_rules.hpp"
#include "simulations/transform_engine.hpp"
#include "simulations/transform_finder.hpp"
#include "simulations/transform_report.hpp"

namespace gridstride::integration {

namespace {

using Engine = transform::Engine<double>;
using Lane = transform::Worker<double>;
using Operation = reduce::IntegralOperation<double>;
using transform::Rows;

// -------------------------------------------------------------------------------------- the plan

/// Where the samples lie; spacings are negative where a range falls.
Grid samples_grid(Parameters const& parameters, Inputs const& inputs) {
  auto const shape = inputs.shape(parameters.integrand);
  Grid grid;
  grid.dims = static_cast<int>(shape.size());
  for (std::size_t a = 0; a < shape.size(); ++a) {
    auto const& range = parameters.variables[a].second;
    auto const points = shape[shape.size() - 1 - a];
    grid.points[a] = points;
    grid.origin[a] = range.ends.empty() ? range.lower : range.ends[0];
    if (!range.ends.empty())
      grid.spacing[a] = (range.ends[1] - range.ends[0]) / static_cast<double>(points - 1);
    else if (range.has_spacing())
      grid.spacing[a] = range.spacing;
  }
  return grid;
}

/// The axes that are left.
Grid results_grid(Parameters const& parameters, Grid const& samples) {
  Grid grid;
  std::size_t left = 0;
  for (std::size_t a = 0; a < parameters.variables.size(); ++a) {
    if (parameters.integrates(a)) continue;
    grid.points[left] = samples.points[a];
    grid.origin[left] = samples.origin[a];
    grid.spacing[left++] = samples.spacing[a];
  }
  grid.dims = std::max(1, static_cast<int>(left));
  return grid;
}

reduce::Rule number_of(RuleInfo const& rule) {
  return rule.name == "trapezoid" ? reduce::Rule::trapezoid
         : rule.name == "simpson" ? reduce::Rule::simpson
                                  : reduce::Rule::romberg;
}

/// What is done to the samples, without a device.
struct Plan {
  Grid samples, results;
  Operation operation;  ///< without the tables of romberg
  int axis = -1;        ///< that is integrated along; -1: all
  transform::Chain chain;
  std::optional<Positions> positions;
  std::vector<int> places;  ///< that are looked at
  transform::Files files;
  transform::Load load;
  transform::Cut cut;
  std::size_t device_bytes = 0;

  /// Throws `ConfigError` where one row does not fit into the limits.
  Plan(config::RunConfig const& run, Inputs const& inputs, Device const& device);
  bool has_errors() const { return operation.rule == reduce::Rule::romberg; }

 private:
  void cut_within(config::RunConfig const& run, Device const& device);
  /// Of device memory, for results and what is summed up of chunks of so many rows.
  std::size_t sums_bytes(Precision precision, std::int64_t rows) const;
};

/// The chain counts points by their index.
Grid unit_grid(Grid const& samples) {
  Grid grid;
  grid.dims = samples.dims;
  grid.points = samples.points;
  return grid;
}

Plan::Plan(config::RunConfig const& run, Inputs const& inputs, Device const& device)
    : samples(samples_grid(parameters_of(run), inputs)),
      results(results_grid(parameters_of(run), samples)),
      operation{number_of(rule_of(parameters_of(run))), samples.dims, samples.points,
                samples.spacing, nullptr},
      chain(unit_grid(samples)) {
  auto const& parameters = parameters_of(run);
  bool const whole = samples.dims == 1 || parameters.axis == all_axes;
  for (std::size_t a = 0; a < parameters.variables.size() && !whole; ++a)
    if (parameters.integrates(a)) axis = static_cast<int>(a);
  places = {
      chain.append({"samples", {}, transform::FromFile{&parameters.integrand}, chain.grid()})};
  if (auto const& range = parameters.variables.front().second; range.has_positions()) {
    positions = append_positions(chain, places.front(), range.positions, operation.rule);
    places = {positions->distances, positions->parts};
  }
  for (auto const& link : chain.links()) {
    auto const* file = std::get_if<transform::FromFile>(&link.work);
    files.emplace_back(file != nullptr ? inputs.open(*file->source) : nullptr);
  }
  cut_within(run, device);
}

std::size_t Plan::sums_bytes(Precision precision, std::int64_t rows) const {
  std::size_t sums;
  if (positions)
    sums = transform::Reduced<reduce::MinimumPlace<double>>::bytes(chain, positions->distances) +
           transform::Reduced<reduce::SumOperation<double>>::bytes(chain, positions->parts);
  else if (axis < 0)
    sums = transform::Reduced<Operation>::bytes(chain, places.front());
  else
    sums = reduce::LineIntegrals::bytes(operation, axis, rows);
  std::size_t const tables = has_errors() ? reduce::romberg_places * sizeof(double) : 0;
  return (has_errors() ? 2 : 1) * (sums + static_cast<std::size_t>(samples.dims) * tables +
                                   static_cast<std::size_t>(results.size()) * size_of(precision));
}

void Plan::cut_within(config::RunConfig const& run, Device const& device) {
  auto const room = transform::room_of(run.limits, device);
  load.places = places;
  chain.fuse(places);
  for (auto const& file : files) load.stored_bytes.push_back(file ? file->type().bytes : 0);
  load.lane_bytes = Lane::bytes(chain);
  // The strands of a chunk take an eighth of it at most, for each field.
  constexpr double share_of_chunks = 0.8;
  std::size_t const fixed = sums_bytes(run.precision, 0);
  load.device_bytes = share_of_chunks * (room.device - static_cast<double>(fixed));
  load.host_bytes = room.host;
  cut = transform::cut_for(chain, run.limits, load, device.backend());
  transform::require_room(run, cut, load, device.backend());
  device_bytes = sums_bytes(run.precision, cut.rows) + cut.device_bytes(load, device.backend());
}

// -------------------------------------------------------------------------------------- the sums

/// Integrals that are summed up while samples go by in chunks.
class Sums {
 public:
  virtual ~Sums() = default;
  virtual void take(Lane& lane, Rows const& chunk) = 0;
  /// All of them, once all samples have gone by.
  virtual std::vector<double> finish(Stream& stream) = 0;
};

/// Over all axes.
class WholeSums final : public Sums {
 public:
  WholeSums(Stream const& stream, Plan const& plan, Operation const& operation)
      : sum_(stream, plan.chain, plan.places.front(), operation) {}
  void take(Lane& lane, Rows const& chunk) override { sum_.take(lane, chunk); }
  std::vector<double> finish(Stream& stream) override { return {sum_.finish(stream)}; }

 private:
  transform::Reduced<Operation> sum_;
};

/// Along one axis.
class LineSums final : public Sums {
 public:
  LineSums(Stream const& stream, Plan const& plan, Operation const& operation)
      : place_(plan.places.front()), lines_(stream, operation, plan.axis, plan.cut.rows) {}
  void take(Lane& lane, Rows const& chunk) override {
    lines_.add(lane.stream(), lane.values(place_, chunk));
  }
  std::vector<double> finish(Stream& stream) override {
    std::vector<double> values(static_cast<std::size_t>(lines_.results()));
    lines_.finish(stream, values);
    stream.synchronize();
    return values;
  }

 private:
  int place_;
  reduce::LineIntegrals lines_;
};

/// Over samples at any distances.
class PositionSums final : public Sums {
 public:
  /// `refuse(index)` throws for the first position that is not greater than the one before.
  PositionSums(Stream const& stream, Plan const& plan, std::function<void(std::int64_t)> refuse)
      : least_(stream, plan.chain, plan.positions->distances),
        sum_(stream, plan.chain, plan.positions->parts),
        refuse_(std::move(refuse)) {}
  void take(Lane& lane, Rows const& chunk) override {
    least_.take(lane, chunk);
    sum_.take(lane, chunk);
  }
  std::vector<double> finish(Stream& stream) override {
    if (auto const least = least_.finish(stream); !(least.value > 0)) refuse_(least.index + 1);
    return {sum_.finish(stream)};
  }

 private:
  transform::Reduced<reduce::MinimumPlace<double>> least_;
  transform::Reduced<reduce::SumOperation<double>> sum_;
  std::function<void(std::int64_t)> refuse_;
};

/// The tables of romberg, axis after axis, for those that are integrated along.
std::vector<double> romberg_tables(Plan const& plan, bool of_half) {
  std::vector<double> tables;
  for (int a = 0; a < plan.samples.dims; ++a) {
    bool const integrated = plan.axis < 0 || a == plan.axis;
    auto const points = plan.samples.points[static_cast<std::size_t>(a)];
    auto const table = integrated ? reduce::romberg_weights(points, of_half)
                                  : std::vector<double>(reduce::romberg_places);
    tables.insert(tables.end(), table.begin(), table.end());
  }
  return tables;
}

// -------------------------------------------------------------------------------- the simulation

template <class T>
class SampleIntegration final : public OneShot {
 public:
  SampleIntegration(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override;
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override;
  std::vector<std::string> fallbacks() const override { return engine_->fallbacks(); }
  void tell_headway(std::function<void(Headway const&)> tell) override { tell_ = std::move(tell); }

 private:
  void compute() override;
  std::unique_ptr<Sums> sums(bool of_half);
  void refuse_position(std::int64_t index) const;
  void keep(std::span<double const> found, Buffer<T>& target);

  Plan plan_;
  config::RunConfig const* run_;
  std::string rule_;
  std::vector<Buffer<double>> tables_;       // of romberg
  std::vector<std::unique_ptr<Sums>> sums_;  // by the rule; where there are errors, of a half, too
  transform::Resident<double> resident_;     // nothing: there is one pass
  std::optional<Engine> engine_;
  std::vector<Buffer<T>> arrays_;
  double value_ = std::numeric_limits<double>::quiet_NaN(), error_ = value_;
  PipelineReport report_;
  std::function<void(Headway const&)> tell_;
};

template <class T>
SampleIntegration<T>::SampleIntegration(config::RunConfig const& run, Stream const& stream,
                                        Inputs const& inputs)
    : OneShot(stream, {"integrate"}),
      plan_(run, inputs, stream.device()),
      run_(&run),
      rule_(rule_of(parameters_of(run)).name) {
  for (bool const of_half : {false, true}) {
    if (of_half && !plan_.has_errors()) break;
    sums_.push_back(sums(of_half));
    arrays_.emplace_back(stream_, MemorySpace::device,
                         static_cast<std::size_t>(plan_.results.size()));
    zero_async(arrays_.back().span(), stream_);
  }
  resident_.values.resize(plan_.files.size());
  resident_.rows.resize(plan_.files.size());
  resident_.filled.resize(plan_.files.size());
  engine_.emplace(stream_, plan_.chain, plan_.load, plan_.cut, plan_.files, resident_,
                  [inputs, this](int place, std::int64_t index, NumberSource const& file) {
                    auto const& work = std::get<transform::FromFile>(plan_.chain.link(place).work);
                    inputs.refuse(*work.source, index, number_at(file, index));
                  });
}

template <class T>
std::unique_ptr<Sums> SampleIntegration<T>::sums(bool of_half) {
  if (plan_.positions)
    return std::make_unique<PositionSums>(stream_, plan_,
                                          [this](std::int64_t index) { refuse_position(index); });
  Operation operation = plan_.operation;
  if (plan_.has_errors()) {
    tables_.push_back(on_device<double>(stream_, romberg_tables(plan_, of_half)));
    operation.romberg = tables_.back().data();
  }
  if (plan_.axis >= 0) return std::make_unique<LineSums>(stream_, plan_, operation);
  return std::make_unique<WholeSums>(stream_, plan_, operation);
}

template <class T>
void SampleIntegration<T>::refuse_position(std::int64_t index) const {
  auto const& source = parameters_of(*run_).variables.front().second.positions;
  auto const& file = *plan_.files[static_cast<std::size_t>(plan_.positions->file)];
  throw ConfigError({run_->problem(
      source.location,
      fmt::format("{} has {} at [{}] after {} (each position has to be greater than the one "
                  "before)",
                  describe(source), number_at(file, index), index, number_at(file, index - 1)))});
}

template <class T>
void SampleIntegration<T>::compute() {
  times_.measure("integrate", [this] {
    transform::PassWork<double> work;
    work.places = plan_.places;
    work.take = [this](Lane& lane, Rows const& chunk) {
      for (auto const& sums : sums_) sums->take(lane, chunk);
    };
    auto const bytes = static_cast<double>(plan_.samples.size()) * plan_.load.stored_bytes.front();
    if (tell_)
      work.tell = [this, bytes](double share) { tell_({"samples", share, share * bytes}); };
    report_ = engine_->run(work);
    std::vector<double> const values = sums_[0]->finish(stream_);
    value_ = values.front();
    keep(values, arrays_[0]);
    if (!plan_.has_errors()) return;
    std::vector<double> errors = sums_[1]->finish(stream_);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::abs(values[i] - errors[i]);
    error_ = std::ranges::max(errors);
    keep(errors, arrays_[1]);
  });
}

/// Rounds to T.
template <class T>
void SampleIntegration<T>::keep(std::span<double const> found, Buffer<T>& target) {
  bool const is_value = &target == &arrays_[0];
  std::vector<T> rounded(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    // An error that is too small for T is none that counts.
    if (is_value ? !has_number<T>(found[i]) : !std::isfinite(static_cast<T>(found[i])))
      throw NumericalError(
          fmt::format("integration: the {} is {:.9g}, for which {} has no number{}",
                      is_value ? "integral" : "error", found[i], name_of(precision_of<T>()),
                      plan_.axis < 0 ? "" : fmt::format(" (result [{}])", i)));
    rounded[i] = static_cast<T>(found[i]);
  }
  copy_async(target.span(), std::span<T const>(rounded), stream_);
  stream_.synchronize();
}

template <class T>
std::vector<Field> SampleIntegration<T>::fields() const {
  std::vector<Field> fields;
  auto const infos = all_fields();
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    fields.push_back(
        {infos[i].name, infos[i].unit, plan_.results, precision_of<T>(), arrays_[i].data()});
  return fields;
}

/// Of several integrals, the first value and the largest error.
template <class T>
std::vector<NamedValue> SampleIntegration<T>::diagnostics() const {
  std::vector<NamedValue> values = {{"value", value_, 16}};
  if (plan_.has_errors()) values.push_back({"error_estimate", error_});
  values.push_back({"samples", static_cast<double>(plan_.samples.size())});
  for (auto const& more : {OneShot::diagnostics(), transform::report_seconds(report_)})
    values.insert(values.end(), more.begin(), more.end());
  return values;
}

template <class T>
std::vector<NamedText> SampleIntegration<T>::chosen() const {
  std::vector<NamedText> texts = {{"rule", rule_}};
  std::ranges::copy(report_texts(plan_.cut, report_), std::back_inserter(texts));
  return texts;
}

}  // namespace

MemoryForecast samples_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
  Plan const plan(run, inputs, Device::open(backend, run.device.ordinal));
  std::size_t const bytes = static_cast<std::size_t>(plan.results.size()) * size_of(run.precision);
  MemoryForecast forecast{.array_bytes = bytes,
                          .arrays = 0,
                          .array_name = "value",
                          .key = "parameters.axis",
                          .field_bytes = bytes};
  forecast.other_bytes = plan.device_bytes;
  forecast.host_bytes = plan.cut.host_bytes(plan.load);
  return forecast;
}

std::unique_ptr<Simulation> make_of_samples(config::RunConfig const& run, Stream const& stream,
                                            Inputs const& inputs) {
  return make_simulation<SampleIntegration>(run, stream, inputs);
}

}  // namespace gridstride::integration
