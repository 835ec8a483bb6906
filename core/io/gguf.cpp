#include "core/io/gguf.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>

namespace ptrain {
namespace {

using nlohmann::json;
using Bytes = std::span<const std::byte>;

constexpr std::string_view gguf_magic = "GGUF";
constexpr std::uint64_t default_alignment = 32;
constexpr std::uint32_t most_axes = 4;

/// ggml's number of each type that can be read; types without a DType are blocks.
struct TensorType {
  std::uint32_t number;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array<TensorType, 9> tensor_types{{{0, "F32", DType::f32},
                                                  {1, "F16", DType::f16},
                                                  {30, "BF16", DType::bf16},
                                                  {2, "Q4_0", {}},
                                                  {3, "Q4_1", {}},
                                                  {8, "Q8_0", {}},
                                                  {12, "Q4_K", {}},
                                                  {13, "Q5_K", {}},
                                                  {14, "Q6_K", {}}}};

/// Values' types, by number.
enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64, count };

/// Reads the start of a file; nothing that is said to be there is taken before it is.
class Reader {
 public:
  Reader(Bytes bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  std::size_t position() const { return at_; }
  std::string_view file() const { return file_; }

  /// `what` is being read, for messages.
  template <typename Number>
  Number number(std::string_view what) {
    Number value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string string(std::string_view what) {
    const Bytes text = take(number<std::uint64_t>(what), what);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  /// A number of entries of at least `least` bytes each.
  std::uint64_t count(std::uint64_t least, std::string_view what) {
    const auto entries = number<std::uint64_t>(what);
    if (entries > (bytes_.size() - at_) / least) {
      fail("{}: {}: {} entries in the {} bytes that follow: the file is truncated or damaged", file_, what, entries,
           bytes_.size() - at_);
    }
    return entries;
  }

 private:
  Bytes take(std::uint64_t length, std::string_view what) {
    if (length > bytes_.size() - at_) {
      fail("{}: {}: {} bytes at {} of a file of {}: the file is truncated or damaged", file_, what, length, at_,
           bytes_.size());
    }
    const Bytes taken = bytes_.subspan(at_, static_cast<std::size_t>(length));
    at_ += taken.size();
    return taken;
  }

  Bytes bytes_;
  std::string_view file_;
  std::size_t at_ = 0;
};

json read_scalar(Reader& reader, ValueType type, const std::string& key) {
  switch (type) {
    case ValueType::u8:
      return reader.number<std::uint8_t>(key);
    case ValueType::i8:
      return reader.number<std::int8_t>(key);
    case ValueType::u16:
      return reader.number<std::uint16_t>(key);
    case ValueType::i16:
      return reader.number<std::int16_t>(key);
    case ValueType::u32:
      return reader.number<std::uint32_t>(key);
    case ValueType::i32:
      return reader.number<std::int32_t>(key);
    case ValueType::f32:
      return reader.number<float>(key);
    case ValueType::boolean:
      return reader.number<std::uint8_t>(key) != 0;
    case ValueType::string:
      return reader.string(key);
    case ValueType::u64:
      return reader.number<std::uint64_t>(key);
    case ValueType::i64:
      return reader.number<std::int64_t>(key);
    case ValueType::f64:
      return reader.number<double>(key);
    case ValueType::array:
    case ValueType::count:
      break;
  }
  throw std::logic_error("a value that is no scalar");
}

ValueType read_value_type(Reader& reader, const std::string& key) {
  const auto type = reader.number<std::uint32_t>(key);
  if (type >= static_cast<std::uint32_t>(ValueType::count)) {
    fail("{}: {}: a value of type {}, expected 0 to 12: the file is damaged", reader.file(), key, type);
  }
  return static_cast<ValueType>(type);
}

/// Least number of bytes of a value.
std::uint64_t least_size(ValueType type) {
  constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return sizes[static_cast<std::size_t>(type)];
}

json read_value(Reader& reader, const std::string& key) {
  const ValueType type = read_value_type(reader, key);
  if (type != ValueType::array) return read_scalar(reader, type, key);
  const ValueType element = read_value_type(reader, key);
  if (element == ValueType::array) fail("{}: {}: an array of arrays is not supported", reader.file(), key);
  const std::uint64_t count = reader.count(least_size(element), key);
  json values = json::array();
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(read_scalar(reader, element, key));
  return values;
}

GgufMetadata read_metadata(Reader& reader, std::uint64_t count) {
  GgufMetadata metadata;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = reader.string("a key's name"), key = quoted_name(name);
    if (!metadata.try_emplace(name, read_value(reader, key)).second) {
      fail("{}: {}: the key occurs twice", reader.file(), key);
    }
  }
  return metadata;
}

std::uint64_t get_alignment(const GgufMetadata& metadata, std::string_view file) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return default_alignment;
  const std::uint64_t multiple = found->second.is_number_unsigned() ? found->second.get<std::uint64_t>() : 0;
  if (multiple == 0 || multiple % 8 != 0 || multiple > 1 << 20) {
    fail("{}: general.alignment: {}: expected a multiple of 8", file,
         found->second.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  return multiple;
}

/// A tensor's description; its bytes are set when the data's begin is known.
struct Described {
  NamedTensor tensor;
  std::uint64_t offset;
  std::uint64_t size;
};

/// The bytes of a tensor, checked against overflow by the extents' own limits.
std::uint64_t count_bytes(const TensorType& type, const Shape& shape, const std::string& where) {
  const auto elements = static_cast<std::uint64_t>(shape.count());
  if (type.dtype) return elements * element_size(*type.dtype);
  const BlockFormat format = find_block_format(type.name).value();
  if (shape[-1] % block_elements(format) != 0) {
    fail("{}: rows of {} elements are no whole blocks of {}, which {} has", where, shape[-1], block_elements(format),
         type.name);
  }
  return static_cast<std::uint64_t>(bytes_in_blocks(format, shape.count()));
}

Shape read_shape(Reader& reader, const std::string& where) {
  const auto axes = reader.number<std::uint32_t>("a tensor's axes");
  if (axes < 1 || axes > most_axes) fail("{}: {} axes, expected 1 to {}", where, axes, most_axes);
  std::vector<std::int64_t> extents;
  std::uint64_t elements = 1;
  constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;
  for (std::uint32_t i = 0; i < axes; ++i) {
    const auto extent = reader.number<std::uint64_t>("a tensor's extents");
    if (extent == 0 || extent > most_elements / elements) fail("{}: an extent of {} is out of range", where, extent);
    elements *= extent;
    extents.insert(extents.begin(), static_cast<std::int64_t>(extent));  // the file has the fastest first
  }
  return Shape(std::move(extents));
}

Described read_description(Reader& reader) {
  Described described;
  NamedTensor& tensor = described.tensor;
  tensor.name = reader.string("a tensor's name");
  const std::string where = fmt::format("{}: tensor {}", reader.file(), quoted_name(tensor.name));
  tensor.shape = read_shape(reader, where);
  const auto number = reader.number<std::uint32_t>("a tensor's type");
  const auto type = std::find_if(tensor_types.begin(), tensor_types.end(),
                                 [&](const TensorType& known) { return known.number == number; });
  if (type == tensor_types.end()) {
    fail("{}: ggml's type {} cannot be read: expected F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q5_K or Q6_K", where,
         number);
  }
  if (type->dtype) {
    tensor.dtype = *type->dtype;
  } else {
    tensor.other_type = type->name;
  }
  described.offset = reader.number<std::uint64_t>("a tensor's offset");
  described.size = count_bytes(*type, tensor.shape, where);
  return described;
}

/// A key of the metadata; null where it is missing.
const json* find(const GgufMetadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

}  // namespace

GgufIndex parse_gguf(Bytes bytes, std::string_view file) {
  if (bytes.size() < gguf_magic.size() || std::memcmp(bytes.data(), gguf_magic.data(), gguf_magic.size()) != 0) {
    fail("{}: not GGUF: it does not begin with \"GGUF\"", file);
  }
  Reader reader(bytes, file);
  reader.number<std::uint32_t>("the magic");
  const auto version = reader.number<std::uint32_t>("the version");
  if (version != 2 && version != 3) {
    fail("{}: GGUF version {}{}: expected 2 or 3", file, version,
         version > 0xffff ? " (a file for big-endian machines?)" : "");
  }
  constexpr std::uint64_t least_tensor = 8 + 4 + 8 + 4 + 8, least_key = 8 + 4 + 1;
  const std::uint64_t tensors = reader.count(least_tensor, "the number of tensors");
  const std::uint64_t keys = reader.count(least_key, "the number of keys");
  GgufIndex index;
  index.metadata = read_metadata(reader, keys);
  std::vector<Described> all;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    all.push_back(read_description(reader));
    const std::string& name = all.back().tensor.name;
    if (!names.insert(name).second) fail("{}: tensor {}: its name occurs twice", file, quoted_name(name));
  }
  const std::uint64_t multiple = get_alignment(index.metadata, file);
  const std::uint64_t begin = round_up(reader.position(), multiple);
  for (Described& described : all) {
    NamedTensor& tensor = described.tensor;
    const std::uint64_t data = begin <= bytes.size() ? bytes.size() - begin : 0;
    if (described.offset % multiple != 0) {
      fail("{}: tensor {}: begins at {} of the data, expected a multiple of {}: the file is damaged", file,
           quoted_name(tensor.name), described.offset, multiple);
    }
    if (described.offset > data || described.size > data - described.offset) {
      fail("{}: tensor {}: {} bytes at {} of the {} bytes of data: the file is truncated", file,
           quoted_name(tensor.name), described.size, described.offset, data);
    }
    tensor.bytes =
        bytes.subspan(static_cast<std::size_t>(begin + described.offset), static_cast<std::size_t>(described.size));
    index.tensors.push_back(std::move(tensor));
  }
  return index;
}

std::string GgufFile::architecture() const {
  const json* name = find(metadata(), "general.architecture");
  if (name == nullptr || !name->is_string()) fail("{}: general.architecture: expected a name", path_);
  return name->get<std::string>();
}

double GgufFile::number(std::string_view key, std::optional<double> fallback) const {
  const std::string full = fmt::format("{}.{}", architecture(), key);
  const json* value = find(metadata(), full);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_number()) fail("{}: {}: expected a number", path_, quoted_name(full));
  return value->get<double>();
}

std::int64_t GgufFile::positive_integer(std::string_view key, std::optional<std::int64_t> fallback) const {
  const double value = number(key, fallback ? std::optional<double>(static_cast<double>(*fallback)) : std::nullopt);
  if (!(value >= 1) || value != std::floor(value) || value > 1e15) {
    fail("{}: {}.{}: expected a positive integer, got {}", path_, architecture(), key, value);
  }
  return static_cast<std::int64_t>(value);
}

std::vector<NamedTensor> rename_to_transformers(const GgufFile& file) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> whole{
      {{"token_embd.", "model.embed_tokens."}, {"output_norm.", "model.norm."}, {"output.", "lm_head."}}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> of_layer{
      {{"attn_norm.", "input_layernorm."},
       {"ffn_norm.", "post_attention_layernorm."},
       {"attn_q.", "self_attn.q_proj."},
       {"attn_k.", "self_attn.k_proj."},
       {"attn_v.", "self_attn.v_proj."},
       {"attn_output.", "self_attn.o_proj."},
       {"attn_q_norm.", "self_attn.q_norm."},
       {"attn_k_norm.", "self_attn.k_norm."},
       {"ffn_gate.", "mlp.gate_proj."},
       {"ffn_up.", "mlp.up_proj."},
       {"ffn_down.", "mlp.down_proj."}}};
  const auto rename = [](std::string_view name, const auto& table, std::string& to) {
    for (const auto& [from, other] : table) {
      if (!name.starts_with(from)) continue;
      to += fmt::format("{}{}", other, name.substr(from.size()));
      return true;
    }
    return false;
  };
  const bool permuted = file.architecture() == "llama";
  std::vector<NamedTensor> tensors = file.tensors();
  for (NamedTensor& tensor : tensors) {
    const std::string name = tensor.name;
    const std::size_t layer_end = name.starts_with("blk.") ? name.find('.', 4) : std::string::npos;
    std::string other;
    if (layer_end == std::string::npos) {
      if (rename(name, whole, other)) tensor.name = other;
      continue;
    }
    other = fmt::format("model.layers.{}.", name.substr(4, layer_end - 4));
    const std::string_view in_layer = std::string_view(name).substr(layer_end + 1);
    if (!rename(in_layer, of_layer, other)) continue;
    tensor.name = other;
    if (!permuted) continue;
    const std::int64_t heads = file.positive_integer("attention.head_count");
    if (in_layer.starts_with("attn_q.")) tensor.interleaved_heads = heads;
    if (in_layer.starts_with("attn_k.")) {
      tensor.interleaved_heads = file.positive_integer("attention.head_count_kv", heads);
    }
  }
  return tensors;
}

}  // namespace ptrain
