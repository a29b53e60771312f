#include "equations/blocks.hpp"

#include <utility>

namespace gridstride::equations {

void close(std::size_t size, std::vector<char>& acts) {
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        if (acts[i * size + k] && acts[k * size + j]) acts[i * size + j] = 1;
}

std::vector<std::vector<std::size_t>> blocks_of(std::size_t size, std::vector<char> acts) {
  close(size, acts);
  std::vector<std::vector<std::size_t>> blocks;
  std::vector<char> placed(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    if (placed[i]) continue;
    std::vector<std::size_t> block;
    for (std::size_t j = i; j < size; ++j)
      if (j == i || (acts[i * size + j] && acts[j * size + i])) {
        block.push_back(j);
        placed[j] = 1;
      }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace gridstride::equations
