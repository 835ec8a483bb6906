#include "core/base/dtype.h"

#include "core/base/errors.h"

#include <array>

namespace ptrain {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Entry, 7> entries{{{DType::f32, "f32", 4},
                                        {DType::bf16, "bf16", 2},
                                        {DType::f16, "f16", 2},
                                        {DType::i64, "i64", 8},
                                        {DType::i32, "i32", 4},
                                        {DType::u8, "u8", 1},
                                        {DType::s8, "s8", 1}}};

const Entry& entry(DType dtype) { return entries[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t element_size(DType dtype) { return entry(dtype).size; }
std::string_view to_string(DType dtype) { return entry(dtype).name; }

DType dtype_from_name(std::string_view name) {
  for (const Entry& e : entries) {
    if (e.name == name) return e.dtype;
  }
  fail_usage("unknown element type \"{}\": expected f32, bf16, f16, i64, i32, u8 or s8", name);
}

bool is_floating(DType dtype) { return dtype == DType::f32 || is_low_precision(dtype); }

}  // namespace ptrain
