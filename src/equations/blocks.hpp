#pragma once

#include <cstddef>
#include <vector>

/// Which components act on which: `acts[i·size + j]` where j acts on i.
namespace gridstride::equations {

/// Adds what acts through others.
void close(std::size_t size, std::vector<char>& acts);

/// Sets of components that act on each other, directly or not: the diagonal blocks of the matrix.
std::vector<std::vector<std::size_t>> blocks_of(std::size_t size, std::vector<char> acts);

}  // namespace gridstride::equations
