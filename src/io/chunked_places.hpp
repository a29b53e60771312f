#pragma once

#include <memory>

#include "core/field_sink.hpp"
#include "core/precision.hpp"
#include "io/hdf5.hpp"
#include "io/transaction.hpp"

/// Where the bytes of fields go in a chunked dataset that has a step more with each moment.
namespace gridstride::io {

/// The extents of the chunks for fields of such a shape. `compression`: deflate's level; 0: none.
hdf5::Shape chunk_shape(hdf5::Shape const& shape, Precision precision, int compression);

/// One step of a field.
struct StepOfField {
  hsize_t step;
  hdf5::Shape shape;
  Precision precision;
};

/// Its place in a dataset with such chunks and filters, in new space, which `space` and the dataset
/// outlive. What is not packed has its chunks reserved here.
std::unique_ptr<FieldSink> chunked_place(hdf5::RawSpace const& space, hdf5::Object const& dataset,
                                         StepOfField const& field, int compression);

}  // namespace gridstride::io
