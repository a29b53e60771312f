#include "driver/state_record.hpp"

#include <span>

namespace gridstride {

namespace {

template <class T>
std::span<T const> values_of(StateRecord::Array const& array) {
  return {reinterpret_cast<T const*>(array.data), array.values};
}

/// Puts one value under its name.
struct Give {
  CheckpointSink& sink;
  Stream& stream;
  std::string const& name;

  void operator()(std::int64_t value) const { sink.put_integer(name, value); }
  void operator()(double value) const { sink.put_real(name, value); }
  void operator()(std::string const& text) const { sink.put_text(name, text); }
  void operator()(StateRecord::Array const& array) const {
    if (array.precision == Precision::float32)
      sink.put_array(name, values_of<float>(array), stream);
    else
      sink.put_array(name, values_of<double>(array), stream);
  }
};

}  // namespace

void StateRecord::give(CheckpointSink& sink, Stream& stream) const {
  for (auto const& [name, value] : values_) std::visit(Give{sink, stream, name}, value);
}

}  // namespace gridstride
