#include "model/time_stepping.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/ranks.hpp"
#include "model/own_values.hpp"
#include "model/values.hpp"

namespace gridstride {

template <class T>
TimeStepping<T>::TimeStepping(config::RunConfig const& run, Stream const& stream,
                              Inputs const& inputs, std::vector<Row> rows, StepRule rule)
    : stream_(stream),
      grid_(run.grid),
      clock_(stream_, std::move(rule), run.time.end),
      state_(stream, std::move(rows), run, inputs, clock_.device()),
      has_state_(keeps_state(run)),
      is_shared_(run.ranks > 1),
      in_parts_(is_written_in_parts(run, stream.backend())),
      wants_moments_(!run.diagnostics.empty()) {
  std::ranges::copy(run.output.every_nth_point, every_.begin());
}

template <class T>
void TimeStepping<T>::advance(std::int64_t max_steps, double until) {
  clock_.advance(max_steps, until, [this](std::int64_t steps, double) { queue_all(steps); });
  if (finished() && !has_parts()) settle();
}

template <class T>
std::vector<Field> TimeStepping<T>::fields_in_parts() const {
  auto fields = state_.fields();
  for (Field& field : fields) field.data = nullptr;
  return fields;
}

template <class T>
FoundByParts TimeStepping<T>::write_parts(std::vector<FieldTarget> const& targets, bool measured) {
  auto const own = own_fields();
  std::vector<Written> written;
  for (auto const& [field, sink] : targets)
    written.push_back(
        {static_cast<int>(std::ranges::find(own, field, &OwnField::name) - own.begin()), sink});
  return write_own({own, clock(), every_}, std::move(written), measured && wants_moments_,
                   find_beside());
}

template <class T>
void TimeStepping<T>::compare_parts(PartsFinder& finder) {
  auto const own = own_fields();
  auto const beside = find_beside();
  sweep_->with_own(state_.swept(), [&](auto planes) {
    planes.insert(planes.end(), beside.begin(), beside.end());
    files().compare(planes, {own, clock()}, finder);
  });
}

template <class T>
RankFiles<T>& TimeStepping<T>::files() const {
  if (!files_)
    files_ = std::make_unique<RankFiles<T>>(stream_, sweep_->plan(), ranks(), own_files_);
  return *files_;
}

template <class T>
std::vector<OwnField> TimeStepping<T>::own_arrays() const {
  std::vector<OwnField> arrays;
  for (auto const& name : state_.names_of_swept()) arrays.push_back({name, {name}});
  return arrays;
}

template <class T>
FoundByParts TimeStepping<T>::write_own(typename RankFiles<T>::Names names,
                                        std::vector<Written> targets, bool measured,
                                        std::vector<std::span<T const>> const& beside) const {
  FoundByParts found;
  sweep_->with_own(state_.swept(), [&](auto own) {
    own.insert(own.end(), beside.begin(), beside.end());
    found = files().write(own, names, std::move(targets), measured);
  });
  return found;
}

template <class T>
void TimeStepping<T>::advance_whole_batches(std::int64_t max_steps, double until) {
  clock_.keep_legs_whole(true);
  advance(max_steps, until);
  clock_.keep_legs_whole(false);
}

template <class T>
std::vector<NamedText> TimeStepping<T>::with_slabs(std::vector<NamedText> texts) const {
  if (!sweep_) return texts;
  for (auto& text : sweep_->texts()) texts.push_back(std::move(text));
  if (is_shared_)
    texts.push_back({"files", files_ ? files_->way() : "the first rank, of the whole grid"});
  return texts;
}

/// A graph is made where steps of its kind are met again, or are many.
template <class T>
void TimeStepping<T>::queue_all(std::int64_t steps) {
  std::int64_t const pass = steps_of_pass(), of_graph = steps_of_graph();
  if (of_graph == 0 || sweep_) return queue(steps);
  auto kind = graph_numbers();
  kind.push_back(step_size());
  bool const again = kind == kind_before_ || steps >= 2 * of_graph;
  bool const has_graph = kind == graph_kind_;
  kind_before_ = kind;
  while (steps >= of_graph + pass && (has_graph || again) && steps_before_graph() > 0) {
    std::int64_t const some = steps_before_graph();
    queue(some);
    steps -= some;
  }
  if (steps >= of_graph && steps_before_graph() == 0 && (has_graph || again)) {
    if (!has_graph) graph_ = Graph::capture(stream_, [this, of_graph] { queue(of_graph); });
    graph_kind_ = std::move(kind);
    for (; steps >= of_graph; steps -= of_graph) graph_.launch(stream_);
  }
  queue(steps);
}

template <class T>
void TimeStepping<T>::save(CheckpointSink& sink) const {
  if (!has_parts()) settle();
  clock_.save(sink);
  if (!has_parts()) return state_.save(sink);
  auto const names = state_.names_of_swept();
  for (std::size_t i = 0; i < names.size(); ++i)
    sink.put_parts(names[i], precision_of<T>(), static_cast<std::uint64_t>(grid_.size()),
                   [&](FieldSink* of_first) {
                     std::vector<Written> targets;
                     if (of_first != nullptr) targets = {{static_cast<int>(i), of_first}};
                     write_own({own_arrays(), clock()}, std::move(targets), false);
                   });
}

template <class T>
void TimeStepping<T>::load(CheckpointSource const& source) {
  settle();  // or what initial values still have under way would come later
  clock_.load(source);
  if (is_shared_ && sweep_) return load_own(source);
  state_.load(source);
  if (sweep_) sweep_->renew();
}

template <class T>
void TimeStepping<T>::load_own(CheckpointSource const& source) {
  auto const names = state_.names_of_swept();
  auto const& plan = sweep_->plan();
  sweep_->begin_with(state_.swept(), [&](Stream&, Window<T> const& window) {
    for (std::size_t i = 0; i < names.size(); ++i)
      get_own(source, names[i], own_planes(plan, window, window.in[i]));
  });
}

template <class T>
void TimeStepping<T>::get_own(CheckpointSource const& source, std::string const& name,
                              std::span<T> own) const {
  RankArrays<T> arrays(stream_, sweep_->plan(), ranks());
  source.get_parts(name, precision_of<T>(), static_cast<std::uint64_t>(grid_.size()),
                   [&](CheckpointSource::ReadSlab const& read) {
                     arrays.hand_out({&own, 1}, [&](std::int64_t first, auto const& slab) {
                       read(static_cast<std::uint64_t>(first) * sizeof(T),
                            std::as_writable_bytes(slab.front()));
                     });
                   });
}

template <class T>
void TimeStepping<T>::put_own(CheckpointSink& sink, std::string const& name,
                              std::span<T const> own) const {
  sink.put_parts(name, precision_of<T>(), static_cast<std::uint64_t>(grid_.size()),
                 [&](FieldSink* of_first) {
                   std::vector<Written> targets;
                   if (of_first != nullptr) targets = {{0, of_first}};
                   files().write({&own, 1}, {{{name, {name}}}, clock()}, std::move(targets), false);
                 });
}

template <class T>
StagedStepping<T>::StagedStepping(config::RunConfig const& run, Stream const& stream,
                                  Inputs const& inputs, std::vector<Row> rows, Scheme const& scheme,
                                  StepRule rule)
    : TimeStepping<T>(run, stream, inputs, rows, std::move(rule)),
      scheme_(scheme),
      u_(this->state_[rows.front().name]) {
  for (Row const& row : rows)
    if (row.role == Role::evolved) evolved_.push_back(&this->state_[row.name]);
}

template <class T>
void StagedStepping<T>::fill_initial(config::RunConfig const& run, Inputs const& inputs) {
  fill(this->stream_, run.initial.find(u_.row().name)->second, this->grid_, inputs, u_.span(),
       nullptr, run.kernels.at("evaluate"));
}

template <class T>
void StagedStepping<T>::queue_part(Stream&, Stage const&, Part const&) {
  throw std::logic_error("stages of a grid that cannot be cut");
}

template <class T>
void StagedStepping<T>::cut(SweepPlan const& plan,
                            std::array<std::array<T const*, 2>, 3> const& sides,
                            typename WindowSteps<T>::NextPass next) {
  for (int axis = 0; axis < plan.shape.grid.dims; ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      auto const a = static_cast<std::size_t>(axis);
      faces_[a][side] = {this->stream_, plan, axis, sides[a][side]};
    }
  held_ = plan.held_by(ranks().rank());
  auto const values = static_cast<std::size_t>(held_.count() * plan.shape.plane_values());
  for (int i = 0; i < plan.shape.scratch; ++i)
    scratch_.emplace_back(this->stream_, MemorySpace::device, values);
  this->sweep_ = make_window_steps<T>(this->stream_, plan, std::move(next));
}

/// What changes once in a step has its values before the halos are exchanged.
template <class T>
void StagedStepping<T>::queue_parts(std::int64_t steps) {
  T* const arrays[] = {u_.data()};
  auto const pass = [this](Stream& stream, Window<T> const& window) {
    make_stages(stream, window);
  };
  bool const alike = this->sweep_->plan().shape.alike;
  if (alike) return this->sweep_->run(arrays, steps, pass);
  for (; steps > 0; --steps) {
    if (scheme_.stages.size() == 1) refresh_parts(scheme_.stages.front());
    this->sweep_->run(arrays, 1, pass);
    if (scheme_.alternates) current_ = 1 - current_;
    if (uses_clock()) this->clock_.tick();
  }
}

template <class T>
void StagedStepping<T>::refresh_parts(Stage const& stage) {
  if (!this->state_.changes()) return;
  this->state_.refresh(stage);
  for (auto& of_axis : faces_)
    for (auto& face : of_axis) face.renew(this->stream_);
}

/// Each stage on those planes whose neighbours the one before has left right.
template <class T>
void StagedStepping<T>::make_stages(Stream& stream, Window<T> const& window) {
  auto const& shape = this->sweep_->plan().shape;
  std::int64_t const reach = shape.reach / std::ssize(scheme_.stages);
  Planes const all{0, window.grid.points[static_cast<std::size_t>(shape.grid.dims - 1)]};
  for (std::size_t s = 0; s < scheme_.stages.size(); ++s) {
    Stage const& stage = scheme_.stages[s];
    if (scheme_.stages.size() > 1) refresh_parts(stage);
    if (window.stage) {
      auto const make = [&](Stream& on, Planes const& made) {
        Planes const looked_at = Planes{made.lower - reach, made.upper + reach}.within(all);
        auto part = part_of(window, looked_at, stage);
        part.beside = true;
        queue_part(on, stage, part);
      };
      window.stage(make, part_of(window, all, stage).out);
      continue;
    }
    std::int64_t const lost = static_cast<std::int64_t>(s) * reach;
    Planes const looked_at{window.cut[0] ? lost : 0, all.upper - (window.cut[1] ? lost : 0)};
    queue_part(stream, stage, part_of(window, looked_at, stage));
  }
}

/// Planes of a window, from its first one on, as a stage sees them.
template <class T>
auto StagedStepping<T>::part_of(Window<T> const& window, Planes const& planes, Stage const& stage)
    -> Part {
  std::int64_t const line = this->sweep_->plan().shape.plane_values();
  std::int64_t const all = window.grid.points[static_cast<std::size_t>(window.grid.dims - 1)];
  Part part{window.grid,
            window.first + planes.lower,
            {window.cut[0] || planes.lower > 0, window.cut[1] || planes.upper < all},
            {window.in[0] + planes.lower * line},
            {}};
  part.grid.points[static_cast<std::size_t>(window.grid.dims - 1)] = planes.count();
  for (auto& array : scratch_)
    part.arrays.push_back(array.data() + (part.first - held_.lower) * line);
  part.out = &stage == &scheme_.stages.back() ? window.out[0] + planes.lower * line
                                              : part.arrays[static_cast<std::size_t>(stage.out)];
  return part;
}

template <class T>
void StagedStepping<T>::queue(std::int64_t steps) {
  if (this->sweep_) return queue_parts(steps);
  bool const changes = this->state_.changes();
  for (; steps > 0; --steps) {
    for (Stage const& stage : scheme_.stages) {
      if (changes) this->state_.refresh(stage);
      queue_stage(stage);
    }
    if (scheme_.alternates) move_to(buffer(1));
    if (uses_clock()) this->clock_.tick();
  }
}

template <class T>
void StagedStepping<T>::move_to(T const* array) {
  current_ = array == u_.buffer(0) ? 0 : 1;
  for (Array<T>* const each : evolved_) each->place(each->buffer(current_));
}

template <class T>
double StagedStepping<T>::values_per_update() const {
  double values = 0;
  for (Stage const& stage : scheme_.stages)
    values += static_cast<double>(evolved_.size()) *
                  (2 + (stage.base != stage.in) + static_cast<double>(stage.terms.size())) +
              this->state_.coefficient_arrays();
  return values;
}

/// The buffer of a state follows from the number of steps, where every step changes it.
template <class T>
void StagedStepping<T>::load(CheckpointSource const& source) {
  std::int64_t const steps = source.get_integer("step");
  bool const alternates = scheme_.alternates && u_.row().arrays > 1;
  if (this->sweep_)
    current_ = scheme_.alternates ? static_cast<int>(steps % 2) : 0;
  else
    move_to(u_.buffer(alternates ? static_cast<int>(steps % 2) : 0));
  TimeStepping<T>::load(source);
}

template class TimeStepping<float>;
template class TimeStepping<double>;
template class StagedStepping<float>;
template class StagedStepping<double>;

std::vector<NamedText> chosen_texts(std::string_view family, std::string_view row,
                                    int fused_steps) {
  std::vector<NamedText> texts = {{std::string(family), std::string(row)}};
  if (fused_steps > 1) texts.push_back({"fused steps", std::to_string(fused_steps)});
  return texts;
}

}  // namespace gridstride
