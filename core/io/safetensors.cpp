#include "core/io/safetensors.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace ptrain {
namespace {

using nlohmann::json;
using Bytes = std::span<const std::byte>;

constexpr std::uint64_t largest_header = 100'000'000;  // the reference implementation's limit
constexpr int deepest_nesting = 3;                     // a tensor's list of extents
constexpr std::uint64_t most_entries = 2'000'000;
constexpr std::size_t length_bytes = sizeof(std::uint64_t);

constexpr std::array<std::pair<std::string_view, DType>, 7> type_names = {{{"F32", DType::f32},
                                                                           {"BF16", DType::bf16},
                                                                           {"F16", DType::f16},
                                                                           {"I64", DType::i64},
                                                                           {"I32", DType::i32},
                                                                           {"U8", DType::u8},
                                                                           {"I8", DType::s8}}};

/// Bytes per element of the format's types that are no DType; 0: elements smaller than a byte.
constexpr std::array<std::pair<std::string_view, std::size_t>, 14> other_types = {{{"F64", 8},
                                                                                   {"BOOL", 1},
                                                                                   {"I16", 2},
                                                                                   {"U16", 2},
                                                                                   {"U32", 4},
                                                                                   {"U64", 8},
                                                                                   {"F8_E4M3", 1},
                                                                                   {"F8_E5M2", 1},
                                                                                   {"F8_E8M0", 1},
                                                                                   {"C64", 8},
                                                                                   {"F4", 0},
                                                                                   {"F6_E2M3", 0},
                                                                                   {"F6_E3M2", 0},
                                                                                   {"C128", 16}}};

std::string_view type_name(DType dtype) {
  return std::find_if(type_names.begin(), type_names.end(), [&](const auto& entry) { return entry.second == dtype; })
      ->first;
}

bool starts_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

/// Throws for known other formats, naming them.
void refuse_other_formats(Bytes bytes, std::string_view file) {
  const bool zip = starts_with(bytes, "PK\x03\x04");
  const bool pickle =
      bytes.size() > 1 && bytes[0] == std::byte{0x80} && bytes[1] >= std::byte{2} && bytes[1] <= std::byte{5};
  if (zip || pickle)
    fail(
        "{}: a PyTorch pickle, expected safetensors; convert it in Python: import torch; from safetensors.torch import "
        "save_file; d = torch.load(\"{}\", map_location=\"cpu\", weights_only=True); "
        "d = d.get(\"state_dict\", d.get(\"model\", d)); "
        "save_file({{k: v.clone().contiguous() for k, v in d.items() if torch.is_tensor(v)}}, \"model.safetensors\") "
        "(a whole module, if you trust its source: weights_only=False and d = d.state_dict())",
        file, file);
  if (!bytes.empty() && bytes[0] == std::byte{'{'})
    fail("{}: JSON, expected safetensors, or the index of weights in several files, whose name ends in .json", file);
  if (!bytes.empty() && bytes[0] == std::byte{'<'})
    fail("{}: HTML or XML, expected safetensors: a server's answer was saved in place of the weights", file);
}

/// The header's JSON text, its length checked against the file.
std::string_view header_text(Bytes bytes, std::string_view file) {
  if (bytes.size() <= length_bytes || bytes[length_bytes] != std::byte{'{'}) refuse_other_formats(bytes, file);
  if (bytes.size() < length_bytes) fail("{}: {} bytes, too short for a safetensors header", file, bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  if (length > largest_header)
    fail("{}: not safetensors: header length {}, at most {} is allowed", file, length, largest_header);
  if (length > bytes.size() - length_bytes)
    fail("{}: truncated: header of {} bytes in a file of {}", file, length, bytes.size());
  return {reinterpret_cast<const char*>(bytes.data()) + length_bytes, static_cast<std::size_t>(length)};
}

json parse_header(std::string_view text, std::string_view file) {
  if (text.empty() || text.front() != '{') fail("{}: not safetensors: the header is not a JSON object", file);
  std::set<std::string> names;
  std::string duplicate;
  std::uint64_t entries = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest_nesting || ++entries > most_entries) {
      fail("{}: not safetensors: the header nests deeper than {} levels or has more than {} entries", file,
           deepest_nesting, most_entries);
    }
    if (depth == 1 && event == json::parse_event_t::key && !names.insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  json header = json::parse(text, watch, false);
  if (!duplicate.empty()) fail("{}: tensor {}: its name occurs twice", file, quoted_name(duplicate));
  if (!header.is_object()) fail("{}: not safetensors: the header is not valid JSON", file);
  return header;
}

SafetensorsMetadata parse_metadata(const json& entry, std::string_view file) {
  SafetensorsMetadata metadata;
  if (entry.is_null()) return metadata;  // as the reference implementation takes it
  if (!entry.is_object()) fail("{}: __metadata__: expected an object of strings", file);
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) fail("{}: __metadata__: {}: expected a string", file, quoted_name(key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::uint64_t parse_unsigned(const json& value, std::string_view what, std::string_view where) {
  if (!value.is_number_unsigned()) fail("{}: {}: expected whole numbers from 0", where, what);
  return value.get<std::uint64_t>();
}

NamedTensor parse_tensor(const std::string& name, const json& entry, Bytes data, std::string_view file) {
  const std::string where = fmt::format("{}: tensor {}", file, quoted_name(name));
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    fail("{}: expected an object with dtype, shape and data_offsets", where);

  const json& dtype = entry["dtype"];
  const auto type = std::find_if(type_names.begin(), type_names.end(),
                                 [&](const auto& known) { return dtype.is_string() && dtype == known.first; });
  const auto other = std::find_if(other_types.begin(), other_types.end(),
                                  [&](const auto& known) { return dtype.is_string() && dtype == known.first; });
  if (type == type_names.end() && other == other_types.end())
    fail("{}: dtype {}: expected F32, BF16, F16, I64, I32 or U8", where,
         dtype.dump(-1, ' ', false, json::error_handler_t::replace));
  const bool is_other = type == type_names.end();
  const std::string_view type_in_file = is_other ? other->first : type->first;
  const std::size_t size = is_other ? other->second : element_size(type->second);

  if (!entry["shape"].is_array()) fail("{}: shape: expected a list", where);
  std::vector<std::int64_t> dims;
  std::uint64_t elements = 1;  // 0 once an extent is 0, so that no product overflows
  for (const json& dim : entry["shape"]) {
    const std::uint64_t extent = parse_unsigned(dim, "shape", where);
    // Every extent is bounded, even if another is zero, so that Shape can hold it.
    if (extent > (std::uint64_t{1} << 48) || __builtin_mul_overflow(elements, extent, &elements) ||
        elements > (std::uint64_t{1} << 48))
      fail("{}: shape {} is too large", where, entry["shape"].dump());
    dims.push_back(static_cast<std::int64_t>(extent));
  }
  NamedTensor tensor{name, is_other ? DType::u8 : type->second, Shape(std::move(dims)), {}};
  if (is_other) tensor.other_type = type_in_file;

  const json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) fail("{}: data_offsets: expected [begin, end]", where);
  const std::uint64_t begin = parse_unsigned(offsets[0], "data_offsets", where);
  const std::uint64_t end = parse_unsigned(offsets[1], "data_offsets", where);
  if (begin > end || end > data.size())
    fail("{}: bytes {} to {} do not lie within the {} bytes of data (truncated file?)", where, begin, end, data.size());
  if (size > 0 && end - begin != elements * size)
    fail("{}: {} bytes for {} {}, expected {}", where, end - begin, type_in_file, tensor.shape.to_string(),
         elements * size);
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

/// The format requires that the tensors, in order, cover the data exactly.
void check_coverage(const std::vector<NamedTensor>& tensors, Bytes data, std::string_view file) {
  const std::byte* expected = data.data();
  for (const NamedTensor& tensor : tensors) {
    if (tensor.bytes.data() < expected)
      fail("{}: tensor {}: overlaps the one before it", file, quoted_name(tensor.name));
    if (tensor.bytes.data() > expected) fail("{}: tensor {}: unused bytes before it", file, quoted_name(tensor.name));
    expected += tensor.bytes.size();
  }
  const std::ptrdiff_t left = data.data() + data.size() - expected;
  if (left != 0) fail("{}: {} bytes after the last tensor", file, left);
}

}  // namespace

SafetensorsIndex parse_safetensors(Bytes bytes, std::string_view file) {
  const std::string_view text = header_text(bytes, file);
  const json header = parse_header(text, file);
  const Bytes data = bytes.subspan(length_bytes + text.size());
  SafetensorsIndex index;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      index.metadata = parse_metadata(entry, file);
    } else {
      index.tensors.push_back(parse_tensor(name, entry, data, file));
    }
  }
  std::stable_sort(index.tensors.begin(), index.tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  check_coverage(index.tensors, data, file);
  return index;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path.string()), file_(path), index_(parse_safetensors(file_.bytes(), path_)) {
  for (const NamedTensor& tensor : index_.tensors) by_name_[tensor.name] = &tensor;
}

const NamedTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const NamedTensor& SafetensorsFile::at(std::string_view name) const {
  const NamedTensor* tensor = find(name);
  if (tensor == nullptr) fail("{}: has no tensor {}", path_, quoted_name(name));
  if (!tensor->other_type.empty()) {
    fail("{}: tensor {} is {}, which no file of ptrain has", path_, quoted_name(name), tensor->other_type);
  }
  return *tensor;
}

std::vector<NamedTensor> order_for_safetensors(std::span<const NamedTensor> tensors) {
  std::vector<NamedTensor> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return element_size(a.dtype) > element_size(b.dtype);
  });
  return ordered;
}

std::string encode_safetensors_header(std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    invariant(names.insert(tensor.name).second, "safetensors: two tensors of one name");
    invariant(tensor.bytes.size() == element_size(tensor.dtype) * static_cast<std::size_t>(tensor.shape.count()),
              "safetensors: bytes do not match the shape");
    const std::uint64_t end = offset + tensor.bytes.size();
    header[tensor.name] = {
        {"dtype", type_name(tensor.dtype)}, {"shape", tensor.shape.dims()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const SafetensorsMetadata& metadata) {
  write_safetensors(path, tensors, metadata, [](const NamedTensor& tensor) { return tensor.bytes; });
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const SafetensorsMetadata& metadata, const ReadTensor& read) {
  const std::vector<NamedTensor> ordered = order_for_safetensors(tensors);
  const std::string header = encode_safetensors_header(ordered, metadata);
  AtomicFile file(path);
  file.write(header);
  for (const NamedTensor& tensor : ordered) {
    const std::span<const std::byte> bytes = read(tensor);
    invariant(bytes.size() == tensor.bytes.size(), "safetensors: a tensor was read with another size");
    file.write(bytes);
  }
  file.commit();
}

}  // namespace ptrain
