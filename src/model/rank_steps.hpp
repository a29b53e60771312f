#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/rank_links.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "core/timer.hpp"
#include "model/halo_lane.hpp"
#include "model/rank_slabs.hpp"
#include "model/rank_texts.hpp"
#include "model/strip_halos.hpp"
#include "model/window_steps.hpp"

/// Steps of a grid that several processes share.
///
/// Each rank owns a slab: planes that follow one another, as many as the others' up to one. It keeps
/// them on its device, with h = k·r planes of its neighbours on each side, r the reach of a step.
/// Once these halos are exchanged it makes k steps by itself: each leaves r planes fewer that are
/// right on each side, and the last one its own:
///
///     exchanged   ├─ h ─┼──── own ────┼─ h ─┤
///     step 1        ├─────────────────────┤
///     step k            ├──── own ────┤                     planes →
///
/// So k steps cost one exchange, and (k − 1)·r planes that both neighbours compute (J. Demmel,
/// M. Hoemmen, M. Mohiyuddin, K. Yelick, "Avoiding communication in sparse matrix computations",
/// 2008). Where a pass takes long, it is a trip by itself, made in parts. Each waits for what it looks
/// at: itself and the parts beside it in the pass before, at the ends what comes from a neighbour. They
/// are queued one beside the other, upwards on one rank and downwards on the next one, on a few streams
/// by turns. So what a part looks at was made nearly a pass before, here and by the neighbour, and as
/// many parts as there are streams are under way all the time, those of two passes among them:
///
///     rank 0        0(n) 1(n) 2(n) 3(n) 0(n + 1) 1(n + 1) …
///     rank 1        3(n) 2(n) 1(n) 0(n) 3(n + 1) 2(n + 1) …
///     looks at      0, 1 and 2 of pass n for 1(n + 1); 2(n), 3(n) and the upper neighbour's 0(n) for
///                   3(n + 1)
///
/// What looks at a rank's own planes after a trip, as for the next step's size, goes on while the halos of
/// the next one are exchanged on a stream of their own.
///
/// Steps of several stages that are made one by one have an exchange for each stage, where kernels make
/// any planes by themselves. Those that are sent, and look at what has come, have streams of their own
/// beside all others, which need nothing of another rank:
///
///     sides     edges(s) ▶ exchange ▶ edges(s + 1) ▶ …
///     others    inner(s) ───────────▶ inner(s + 1) ▶ …      each after both of the stage before
///
/// Many ranks cut the other axes, too (`SweepPlan::strips`). A rank's planes then are strips with halos on
/// their sides, as wide as those of its planes. After those along the slowest axis come these, axis by
/// axis, of all that is there (model/strip_halos.hpp). Passes make whole strips.
///
/// Kernels that keep planes on the chip make any number of steps, and exchange by themselves: but for the
/// first step of values that were handed out, for those may have others on sides than these hold.
///
/// Each rank begins with its own planes. The arrays of the whole grid, where there are any, are those of
/// rank 0: they are gathered for who looks at them, and handed out where others have changed them
/// (model/rank_slabs.hpp).
namespace gridstride {

template <class T>
class RankSteps final : public WindowSteps<T> {
 public:
  using typename WindowSteps<T>::Pass;
  using typename WindowSteps<T>::NextPass;

  RankSteps(Stream const& stream, SweepPlan const& plan, NextPass next, Ranks& ranks);

  void run(std::span<T* const> arrays, std::int64_t steps, Pass const& pass) override;
  void look(std::span<T* const> arrays, LooksAt planes, Pass const& at) override;
  int begin(Pass const& pass) override;
  void forget() override { begun_ = 0; }
  using WindowSteps<T>::settle;
  void settle(std::function<void()> const& before_change) override;
  using UseOwn = typename WindowSteps<T>::UseOwn;
  void with_own(std::span<T* const> arrays, UseOwn const& use) override;
  void begin_with(std::span<T* const> arrays, Pass const& fill) override;
  void reverse() override;
  void renew() override { renewed_ = true; }
  std::vector<NamedText> texts() override;

 private:
  /// Streams of parts. With those that exchange there are no more of them than the eight that a GPU has
  /// queues for; where two share one, each waits for all that the other one waits for.
  static constexpr std::size_t lanes = 4;

  using WindowSteps<T>::plan_;
  using WindowSteps<T>::next_;

  /// What rank 0 tells the others of steps to make.
  struct Order {
    std::int64_t steps = 0;
    std::int64_t renewed = 0;  // the arrays are to be handed out
    std::array<std::uint64_t, Window<T>::most_arrays> places = {};  // of its arrays
  };

  Order order_for(std::span<T* const> arrays, std::int64_t steps);
  /// Some of the rank's planes, which are made by themselves.
  struct Part {
    Part(Device const& device, Planes const& own)
        : planes(own), made{Event(device), Event(device)} {}

    Planes planes;
    std::array<Event, 2> made;  // by turns
  };
  /// Where what comes is put in its place, beside the parts.
  struct Gate {
    explicit Gate(Device const& device) : stream(Stream(device).urgent()), open(device) {}

    Stream stream;
    Event open;
  };

  /// The planes of a side that the rank beside it looks at, where stages have an exchange each.
  struct Edge {
    explicit Edge(Device const& device) : stream(Stream(device).urgent()), made(device) {}

    Stream stream;
    Event made;
  };

  /// Its own planes, with those around them that so many steps more look at.
  Planes own_for(std::int64_t steps) const {
    std::int64_t const more = steps * plan_.shape.reach;
    return {own_.lower - (is_beside(0) ? more : 0), own_.upper + (is_beside(1) ? more : 0)};
  }
  void make_trip(std::int64_t steps, Pass const& pass);
  void make_whole(std::int64_t steps, Pass const& pass);
  void make_on_chip(std::int64_t steps, Pass const& pass);
  void make_in_parts(Pass const& pass);
  void make_part(std::size_t number, std::vector<std::size_t> const& next, Pass const& pass);
  std::size_t part_in_order(std::size_t place) const;
  void begin_parts();
  void end_parts();
  void make_planes(Stream& stream, Planes const& made, std::int64_t halo, int steps,
                   Pass const& pass);
  void make_by_stages(Pass const& pass);
  void make_stage(Planes const& planes, T* in, T* out, typename Window<T>::MakePlanes const& make);
  void set_arrays(Window<T>& window, Planes const& planes);
  Window<T> window_of(Planes const& planes, Planes const& made) const;
  std::vector<std::size_t> made_anew() const;
  std::vector<std::size_t> others_than(std::vector<std::size_t> const& state) const;
  /// From now on the state is in these buffers.
  void move_to(std::vector<std::size_t> const& state) {
    state_ = state;
    spare_ = others_than(state_);
  }
  /// Those that have halos: a single step needs none of what it looks at in its own place.
  std::span<std::size_t const> with_halos(std::vector<std::size_t> const& state) const {
    bool const some = plan_.trip_steps == 1 && plan_.shape.looked_beside > 0;
    return std::span(state).first(some ? static_cast<std::size_t>(plan_.shape.looked_beside)
                                       : state.size());
  }
  bool is_beside(int side) const { return beside_[static_cast<std::size_t>(side)] >= 0; }
  /// The rank's planes and those beside them.
  Planes held() const {
    std::int64_t const halo = plan_.rank_halo();
    return {own_.lower - (is_beside(0) ? halo : 0), own_.upper + (is_beside(1) ? halo : 0)};
  }
  void start_halo(int side, std::vector<std::size_t> const& buffers, Stream& stream);
  void start_halos();
  RankLinks::Arrival arrival_of(int side, Stream& stream);
  void finish_halos(std::span<RankLinks::Arrival const> arrivals) {
    Timer const timer;
    opened_.links->finish(arrivals);
    report_.seconds_exchange += timer.seconds();
  }
  void open_gate(int side, Part const& part, Stream& stream);
  void turn_halo(int side, Stream& stream);
  void take_halos();
  void bring_halos();
  /// Whether halos of whole trips can be exchanged beside what `stream_` has.
  bool can_exchange_beside() const {
    return stream_.backend() == Backend::cuda && makes_whole() && strips_.empty();
  }
  /// Trips by passes that are made one after the other.
  bool makes_whole() const { return parts_.empty() && edges_.empty() && !plan_.on_chip; }
  void exchange_strips();
  void move_slabs(bool out);

  std::size_t values(std::int64_t planes) const {
    return static_cast<std::size_t>(planes * plan_.shape.plane_values());
  }
  std::span<T> planes_of(std::size_t buffer, Planes const& planes) {
    std::int64_t const place = planes.lower - own_.lower + plan_.rank_halo();
    return buffers_[buffer].span().subspan(values(place), values(planes.count()));
  }

  Stream stream_;
  Event queued_;  // on it
  Ranks& ranks_;
  Planes own_;
  RanksBeside beside_;  // −1: the grid ends
  std::vector<Buffer<T>> buffers_;
  std::vector<std::size_t> state_;  // the buffers that it lies in
  std::vector<std::size_t> spare_;
  std::vector<T*> arrays_;                                         // of the whole grid, on rank 0
  std::array<std::uint64_t, Window<T>::most_arrays> places_ = {};  // the same, for who reaches them
  std::optional<RankSlabs<T>> slabs_;
  OpenedLinks opened_;
  std::vector<StripHalos<T>> strips_;  // of the axes that are cut, the slower one first
  bool renewed_ = true, settled_ = true;
  bool stepped_ = false;        // since the arrays had other values
  bool halos_started_ = false;  // those of the next trip, on both sides
  bool halos_there_ = false;    // and they have come
  int begun_ = 0;               // steps of the pass that is queued already
  std::vector<Part> parts_;     // or none
  std::vector<Stream> lanes_;   // that these go on
  std::size_t lane_ = 0;        // that the next one goes on
  HaloLane lane_of_halos_;      // of trips without parts; beside the steps once these are looked at
  std::optional<Gate> gate_;
  std::vector<Edge> edges_;  // of both sides, or none
  bool in_parts_ = false;    // parts come after all that `stream_` has
  std::size_t turn_ = 0;     // of two, one pass after the other
  Timer since_settled_;
  RankReport report_;
};

}  // namespace gridstride
