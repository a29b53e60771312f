#include "io/list.hpp"

#include <algorithm>

namespace gridstride::io {

hdf5::Shape with_time(hsize_t first, hdf5::Shape const& rest) {
  hdf5::Shape shape = {first};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

hdf5::Object create_list(hdf5::Object const& group, std::string const& name, hid_t type,
                         hdf5::Shape const& row, std::size_t chunk_bytes) {
  hdf5::Handle const creation = hdf5::properties(H5P_DATASET_CREATE);
  std::size_t bytes = H5Tget_size(type);
  for (hsize_t const extent : row) bytes *= extent;
  hdf5::Shape const chunk = with_time(std::max<hsize_t>(1, chunk_bytes / bytes), row);
  group.check(H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data()),
              "choosing chunks");
  return group.create_dataset(name, type, hdf5::growing_space(with_time(0, row)), creation.id());
}

}  // namespace gridstride::io
