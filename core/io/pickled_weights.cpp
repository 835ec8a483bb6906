#include "core/io/pickled_weights.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/pickle.h"
#include "core/io/zip_archive.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace ptrain {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = PickleValue::Kind;

constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

constexpr std::string_view rebuild_tensor = "torch._utils._rebuild_tensor_v2",
                           rebuild_parameter = "torch._utils._rebuild_parameter", encode = "_codecs.encode",
                           numpy_dtype = "numpy.dtype";
constexpr std::array<std::string_view, 2> numpy_reconstruct{"numpy.core.multiarray._reconstruct",
                                                            "numpy._core.multiarray._reconstruct"};
constexpr std::array<std::string_view, 2> tuple_names{"builtins.tuple", "__builtin__.tuple"};

/// An element type by the names of PyTorch's storage and of numpy's dtype; `other` is the name of one that is no DType.
struct ElementType {
  std::string_view storage, numpy;
  std::size_t bytes;
  std::optional<DType> dtype;
  std::string_view other;
};
constexpr std::array<ElementType, 10> element_types{{{"torch.FloatStorage", "f4", 4, DType::f32, ""},
                                                     {"torch.DoubleStorage", "f8", 8, {}, "F64"},
                                                     {"torch.HalfStorage", "f2", 2, DType::f16, ""},
                                                     // Paddle keeps bf16 as the integers of their bits.
                                                     {"torch.BFloat16Storage", "u2", 2, DType::bf16, ""},
                                                     {"torch.LongStorage", "i8", 8, DType::i64, ""},
                                                     {"torch.IntStorage", "i4", 4, DType::i32, ""},
                                                     {"torch.ShortStorage", "i2", 2, {}, "I16"},
                                                     {"torch.ByteStorage", "u1", 1, DType::u8, ""},
                                                     {"torch.CharStorage", "i1", 1, DType::s8, ""},
                                                     {"torch.BoolStorage", "b1", 1, {}, "BOOL"}}};

std::vector<std::string_view> list_names() {
  std::vector<std::string_view> names{rebuild_tensor, rebuild_parameter, encode, numpy_dtype, "numpy.ndarray"};
  names.insert(names.end(), numpy_reconstruct.begin(), numpy_reconstruct.end());
  names.insert(names.end(), tuple_names.begin(), tuple_names.end());
  for (const ElementType& type : element_types) names.push_back(type.storage);
  return names;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The name that an object was made by; empty for another value.
std::string_view maker(const PickleValue& value) { return value.kind == Kind::object ? value.items[0]->text : ""; }
const std::vector<const PickleValue*>& arguments(const PickleValue& object) { return object.items[1]->items; }

bool is_tensor(const PickleValue& value) {
  const std::string_view name = maker(value);
  return name == rebuild_tensor || name == rebuild_parameter || is_one_of(numpy_reconstruct, name) ||
         is_one_of(tuple_names, name);
}

/// Makes NamedTensors of a pickle's values.
class TensorReader {
 public:
  TensorReader(Bytes bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  PickledTensors read() {
    if (is_zip(bytes_)) {
      entries_ = parse_zip(bytes_, file_);
      const auto found = std::find_if(entries_.begin(), entries_.end(), [](const auto& entry) {
        return entry.first.ends_with("/data.pkl") || entry.first == "data.pkl";
      });
      if (found == entries_.end()) fail("{}: a zip archive without PyTorch's data.pkl", file_);
      folder_ = found->first.substr(0, found->first.size() - std::string_view("data.pkl").size());
      require_little_endian();
      read_pickle(found->second);
    } else {
      read_pickle(bytes_);
    }
    return std::move(result_);
  }

 private:
  void require_little_endian() const {
    const auto order = entries_.find(folder_ + "byteorder");
    if (order == entries_.end()) return;
    const std::string_view text(reinterpret_cast<const char*>(order->second.data()), order->second.size());
    if (text != "little") fail("{}: saved on a big-endian machine: expected little", file_);
  }

  void read_pickle(Bytes bytes) {
    const std::vector<std::string_view> names = list_names();
    const Pickle pickle(bytes, file_, names);
    const PickleValue& dict = find_dict(pickle.root());
    std::set<std::string> taken;
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const PickleValue &key = *dict.items[i], &value = *dict.items[i + 1];
      if (key.kind != Kind::text || !is_tensor(value)) continue;
      where_ = fmt::format("{}: tensor {}", file_, quoted_name(key.text));
      NamedTensor tensor = read_tensor(value);
      tensor.name = key.text;
      if (!taken.insert(tensor.name).second) fail("{}: its name occurs twice", where_);
      result_.tensors.push_back(std::move(tensor));
    }
  }

  static bool holds_tensors(const PickleValue& value) {
    if (value.kind != Kind::dict) return false;
    for (std::size_t i = 1; i < value.items.size(); i += 2) {
      if (is_tensor(*value.items[i])) return true;
    }
    return false;
  }
  const PickleValue& find_dict(const PickleValue& root) const {
    if (holds_tensors(root)) return root;
    constexpr std::array<std::string_view, 4> keys{"state_dict", "model", "model_state_dict", "module"};
    for (const std::string_view key : keys) {
      const PickleValue* const inner = find_key(root, key);
      if (inner != nullptr && holds_tensors(*inner)) return *inner;
    }
    fail("{}: expected a dict of tensors, or one with such a dict as {}", file_, fmt::join(keys, ", "));
  }

  [[noreturn]] void fail_form() const { fail("{}: not in the form that PyTorch, numpy or Paddle saves", where_); }

  /// The value at `i` of a tuple or of arguments, which must be of `kind`.
  const PickleValue& at(const std::vector<const PickleValue*>& items, std::size_t i, Kind kind) const {
    if (i >= items.size() || items[i]->kind != kind) fail_form();
    return *items[i];
  }

  NamedTensor read_tensor(const PickleValue& value) {
    // Each step goes to an argument, which the pickle finished before: no circle is possible, but a long way is.
    constexpr int most_steps = 4;
    const PickleValue* inner = &value;
    for (int step = 0; step < most_steps; ++step) {
      const std::string_view name = maker(*inner);
      if (name == rebuild_tensor) return read_torch(*inner);
      if (is_one_of(numpy_reconstruct, name)) return read_numpy(*inner);
      if (name == rebuild_parameter) {
        inner = &at(arguments(*inner), 0, Kind::object);
      } else if (is_one_of(tuple_names, name)) {  // Paddle's name and array
        inner = &at(at(arguments(*inner), 0, Kind::tuple).items, 1, Kind::object);
      } else {
        break;
      }
    }
    fail_form();
  }

  std::vector<std::int64_t> read_extents(const PickleValue& tuple) const {
    std::vector<std::int64_t> extents;
    std::uint64_t elements = 1;
    for (const PickleValue* item : tuple.items) {
      const std::int64_t extent = item->kind == Kind::integer ? item->integer : -1;
      if (extent < 0 || static_cast<std::uint64_t>(extent) > most_elements / std::max<std::uint64_t>(elements, 1)) {
        fail("{}: an extent is out of range", where_);
      }
      elements *= static_cast<std::uint64_t>(extent);
      extents.push_back(extent);
    }
    return extents;
  }

  static void set_type(NamedTensor& tensor, const ElementType& type) {
    if (type.dtype) {
      tensor.dtype = *type.dtype;
    } else {
      tensor.other_type = type.other;
    }
  }

  /// storage, offset, extents, strides, ...: all in elements.
  NamedTensor read_torch(const PickleValue& object) {
    const std::vector<const PickleValue*>& parts = arguments(object);
    const auto& [type, storage] = find_storage(at(parts, 0, Kind::persistent));
    NamedTensor tensor;
    tensor.shape = Shape(read_extents(at(parts, 2, Kind::tuple)));
    set_type(tensor, *type);
    const std::int64_t offset = at(parts, 1, Kind::integer).integer;
    const std::vector<const PickleValue*>& strides = at(parts, 3, Kind::tuple).items;
    const auto elements = static_cast<std::uint64_t>(tensor.shape.count());
    const std::uint64_t stored = storage.size() / type->bytes;
    if (strides.size() != static_cast<std::size_t>(tensor.shape.rank())) fail_form();
    if (offset < 0 || static_cast<std::uint64_t>(offset) > stored ||
        elements > stored - static_cast<std::uint64_t>(offset)) {
      fail("{}: {} elements from {} on of a storage of {}: truncated, or elements are shared", where_, elements, offset,
           stored);
    }
    const Bytes from = storage.subspan(static_cast<std::size_t>(offset) * type->bytes);
    tensor.bytes = from.first(static_cast<std::size_t>(elements) * type->bytes);
    if (elements > 0 && !are_in_order(tensor.shape, strides))
      tensor.bytes = put_in_order(tensor, strides, from, type->bytes);
    return tensor;
  }

  std::pair<const ElementType*, Bytes> find_storage(const PickleValue& reference) const {
    const std::vector<const PickleValue*>& parts = at(reference.items, 0, Kind::tuple).items;
    if (at(parts, 0, Kind::text).text != "storage") fail_form();
    const std::string_view name = at(parts, 1, Kind::name).text;
    const auto type = std::ranges::find(element_types, name, &ElementType::storage);
    if (type == element_types.end()) fail("{}: its storage is {}, which is not read", where_, quoted_name(name));
    const std::string entry = folder_ + "data/" + std::string(at(parts, 2, Kind::text).text);
    const auto found = entries_.find(entry);
    if (found == entries_.end()) fail("{}: {} is missing", where_, quoted_name(entry));
    return {type, found->second};
  }

  static bool are_in_order(const Shape& shape, const std::vector<const PickleValue*>& strides) {
    std::int64_t expected = 1;
    for (int axis = shape.rank(); axis-- > 0;) {
      const PickleValue& stride = *strides[static_cast<std::size_t>(axis)];
      if (shape[axis] != 1 && (stride.kind != Kind::integer || stride.integer != expected)) return false;
      expected *= shape[axis];
    }
    return true;
  }

  /// A copy of a view's elements, row-major.
  Bytes put_in_order(const NamedTensor& tensor, const std::vector<const PickleValue*>& strides, Bytes from,
                     std::size_t element) {
    const std::vector<std::int64_t>& extents = tensor.shape.dims();
    std::uint64_t last = 0;  // the farthest element
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const std::int64_t stride = strides[axis]->kind == Kind::integer ? strides[axis]->integer : -1;
      const auto steps = static_cast<std::uint64_t>(extents[axis] - 1);
      const std::uint64_t limit = from.size() / element;
      const bool is_far = stride < 0 || (steps > 0 && static_cast<std::uint64_t>(stride) > limit / steps);
      if (!is_far) last += static_cast<std::uint64_t>(stride) * steps;
      if (is_far || last >= limit) fail("{}: its strides lead out of its storage", where_);
    }
    copied_ += tensor.bytes.size();
    if (copied_ > 2 * bytes_.size()) fail("{}: too many tensors share their elements", where_);
    std::string& copy = result_.copies.emplace_back();
    copy.reserve(tensor.bytes.size());
    std::vector<std::int64_t> index(extents.size());
    for (std::int64_t i = 0; i < tensor.shape.count(); ++i) {
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * strides[axis]->integer;
      copy.append(reinterpret_cast<const char*>(from.data()) + static_cast<std::size_t>(place) * element, element);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < extents[axis]) break;
        index[axis] = 0;
      }
    }
    return std::as_bytes(std::span(copy));
  }

  /// The state is version, extents, dtype, whether in Fortran's order, bytes.
  NamedTensor read_numpy(const PickleValue& object) {
    if (object.items.size() != 3 || object.items[2]->kind != Kind::tuple) fail_form();
    const std::vector<const PickleValue*>& state = object.items[2]->items;
    const ElementType& type = find_numpy_type(at(state, 2, Kind::object));
    NamedTensor tensor;
    tensor.shape = Shape(read_extents(at(state, 1, Kind::tuple)));
    set_type(tensor, type);
    if (at(state, 3, Kind::boolean).integer != 0 && tensor.shape.rank() > 1) {
      fail("{}: in Fortran's order, which is not read: save a copy in C's order", where_);
    }
    if (state.size() < 5) fail_form();
    tensor.bytes = find_bytes(*state[4]);
    const auto expected = static_cast<std::uint64_t>(tensor.shape.count()) * type.bytes;
    if (tensor.bytes.size() != expected) {
      fail("{}: {} bytes, expected {} for {}", where_, tensor.bytes.size(), expected, tensor.shape.to_string());
    }
    return tensor;
  }

  const ElementType& find_numpy_type(const PickleValue& dtype) const {
    if (maker(dtype) != numpy_dtype) fail_form();
    const std::string_view name = at(arguments(dtype), 0, Kind::text).text;
    const auto type = std::ranges::find(element_types, name, &ElementType::numpy);
    if (type == element_types.end()) fail("{}: elements of numpy's type {} are not read", where_, quoted_name(name));
    const PickleValue* const state = dtype.items.size() == 3 ? dtype.items[2] : nullptr;
    if (state == nullptr || state->kind != Kind::tuple || at(state->items, 1, Kind::text).text == ">") {
      fail("{}: elements of a big-endian machine: expected little-endian ones", where_);
    }
    return *type;
  }

  /// Bytes, or as protocol 2 has them a text whose characters are the bytes, and "latin1".
  Bytes find_bytes(const PickleValue& value) {
    if (value.kind == Kind::bytes) return std::as_bytes(std::span(value.text));
    if (maker(value) != encode || arguments(value).size() != 2) fail_form();
    const std::string_view text = at(arguments(value), 0, Kind::text).text;
    if (at(arguments(value), 1, Kind::text).text != "latin1") fail_form();
    copied_ += text.size();
    if (copied_ > 2 * bytes_.size()) fail("{}: too many tensors share their elements", where_);
    std::string& copy = result_.copies.emplace_back();
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto first = static_cast<unsigned char>(text[i]);
      if (first < 0x80) {
        copy.push_back(text[i]);
        continue;
      }
      // The characters from U+0080 to U+00FF are two bytes each.
      if ((first != 0xC2 && first != 0xC3) || ++i == text.size()) fail_form();
      copy.push_back(static_cast<char>((first & 3) << 6 | (static_cast<unsigned char>(text[i]) & 0x3F)));
    }
    return std::as_bytes(std::span(copy));
  }

  Bytes bytes_;
  std::string_view file_;
  ZipEntries entries_;
  std::string folder_;  // of the archive's entries: "archive/"
  std::string where_;   // file and tensor, for messages
  std::uint64_t copied_ = 0;
  PickledTensors result_;
};

}  // namespace

bool are_pickled_weights(std::span<const std::byte> bytes) {
  constexpr std::size_t length_bytes = 8;  // of safetensors' header, before its text
  const bool is_safetensors = bytes.size() > length_bytes && bytes[length_bytes] == std::byte{'{'};
  return is_zip(bytes) || (is_pickle(bytes) && !is_safetensors);
}

PickledTensors parse_pickled_weights(std::span<const std::byte> bytes, std::string_view file) {
  return TensorReader(bytes, file).read();
}

}  // namespace ptrain
