// IDX, the format of MNIST and Fashion-MNIST (http://yann.lecun.com/exdb/mnist): unsigned bytes, plain or gzip.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

struct IdxArray {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> values;
};

/// Parses an IDX file of unsigned bytes with `rank` dimensions. Throws Error naming `name` when the data has another
/// format, is truncated, corrupt or too long, or when the header claims more than the bytes can hold.
IdxArray parse_idx(std::span<const std::uint8_t> bytes, const std::string& name, int rank);

}  // namespace ptrain
