#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/field_sink.hpp"
#include "core/pipeline.hpp"
#include "simulations/transform_engine.hpp"
#include "simulations/transform_reductions.hpp"

/// Fields that are made of a whole array at the end: what sorts and spectra give.
namespace gridstride::transform {

/// Makes the field of an ending, in one pass, in which its array's moments are found too. T is float
/// or double.
template <class T>
class FieldMaker : public Finder<T> {
 public:
  /// In device memory, or without data where it goes to files.
  virtual Field field() const = 0;
  /// A place that such a field goes to, when the pass ends.
  virtual void write_to(FieldSink&) {}
  /// What the pass brings to the host for it.
  virtual std::vector<Written> brought() { return {}; }
  /// What was moved after the pass, stage by stage; no stages where nothing was.
  virtual PipelineReport report() const { return {}; }
};

/// What an ending takes beside the lanes of the engine.
struct EndingMemory {
  bool kept = true;  ///< whether its field is made in device memory, and stays there
  std::size_t device_bytes = 0, host_bytes = 0;
};

/// The endings of a run that are written or compared, and what they take.
struct Endings {
  std::vector<Ending> all;
  std::vector<EndingMemory> memory = {};  ///< of each
  std::size_t device_bytes = 0, host_bytes = 0;

  Endings(Chain const& chain, std::vector<std::string> const& names);

  /// Spectra are always kept. Sorts are where `keeps` says so, and as many as half of `device_limit`
  /// holds, where there is one; each of the others in its turn takes as much of it as serves it.
  void settle(bool keeps, Precision precision, double device_limit);
  /// The arrays that they are of.
  std::vector<int> places() const;
  /// Those that go to the host.
  std::vector<int> brought() const;
};

template <class T>
std::unique_ptr<FieldMaker<T>> make_field(Stream const& stream, Chain const& chain,
                                          Ending const& ending, EndingMemory const& memory,
                                          MomentsFinder<T> const& moments);

// The two kinds.
template <class T>
std::unique_ptr<FieldMaker<T>> make_sort(Stream const& stream, Chain const& chain,
                                         Ending const& ending, EndingMemory const& memory);
template <class T>
std::unique_ptr<FieldMaker<T>> make_spectrum(Stream const& stream, Chain const& chain,
                                             Ending const& ending, MomentsFinder<T> const& moments);

}  // namespace gridstride::transform
