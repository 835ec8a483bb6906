#include "core/serve/request_tensors.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr std::size_t most_axes = 8;

struct Datatype {
  DType dtype;
  std::string_view name;
};

constexpr std::array<Datatype, 4> datatypes{
    {{DType::u8, "UINT8"}, {DType::i32, "INT32"}, {DType::i64, "INT64"}, {DType::f32, "FP32"}}};

const json& get_member(const json& object, const char* name, const char* where, bool (*fits)(const json&),
                       const char* expected) {
  if (!object.is_object()) fail_usage("{}: expected an object", where);
  const auto found = object.find(name);
  if (found == object.end()) fail_usage("{}.{}: is missing", where, name);
  if (!fits(*found)) fail_usage("{}.{}: expected {}", where, name, expected);
  return *found;
}

std::vector<std::int64_t> parse_shape(const json& list, const std::string& name, std::int64_t most_elements) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  if (list.size() > most_axes) fail_usage("{}: shape: expected at most {} numbers", name, most_axes);
  for (const json& side : list) {
    const bool fits = side.is_number_integer() && side >= 0 && side <= most_elements;
    if (!fits) fail_usage("{}: shape: expected whole numbers from 0 to {}", name, most_elements);
    shape.push_back(side.get<std::int64_t>());
    elements *= shape.back();
    if (elements > most_elements) fail_usage("{}: shape: more than {} elements", name, most_elements);
  }
  return shape;
}

template <typename Each>
void visit(const json& data, std::size_t axes, const std::string& name, const Each& each) {
  if (!data.is_array()) return each(data);
  if (axes == 0) fail_usage("{}: data: nested deeper than its shape", name);
  for (const json& item : data) visit(item, axes - 1, name, each);
}

template <typename T>
T parse_number(const json& value, const std::string& name) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value.is_number()) return value.get<T>();
  } else if (value.is_number_integer()) {
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                          : value.get<std::int64_t>() >= std::numeric_limits<T>::min();
    if (fits) return value.get<T>();
  }
  fail_usage("{}: data: {} is not a number of its datatype", name,
             quoted_name(value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 40)));
}

template <typename T>
void take_numbers(const json& data, RequestTensor& tensor) {
  visit(data, std::max<std::size_t>(1, tensor.shape.size()), tensor.name, [&](const json& value) {
    const T number = parse_number<T>(value, tensor.name);
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    tensor.numbers.insert(tensor.numbers.end(), bytes, bytes + sizeof(T));
  });
}

void set_type(const std::string& datatype, RequestTensor& tensor) {
  const auto found = std::ranges::find(datatypes, datatype, &Datatype::name);
  tensor.texts_given = datatype == "BYTES";
  if (found != datatypes.end()) {
    tensor.type = found->dtype;
  } else if (!tensor.texts_given) {
    fail_usage("{}: datatype: expected UINT8, INT32, INT64, FP32 or BYTES, got {}", tensor.name, quoted_name(datatype));
  }
}

void take_data(const json& data, RequestTensor& tensor) {
  if (tensor.texts_given) {
    return visit(data, std::max<std::size_t>(1, tensor.shape.size()), tensor.name, [&](const json& value) {
      if (!value.is_string()) fail_usage("{}: data: expected texts", tensor.name);
      tensor.texts.push_back(value.get<std::string>());
    });
  }
  switch (tensor.type) {
    case DType::u8:
      return take_numbers<std::uint8_t>(data, tensor);
    case DType::i32:
      return take_numbers<std::int32_t>(data, tensor);
    case DType::i64:
      return take_numbers<std::int64_t>(data, tensor);
    case DType::f32:
      return take_numbers<float>(data, tensor);
    default:
      fail_invariant("a datatype without numbers");
  }
}

void take_binary(std::string_view data, RequestTensor& tensor) {
  if (!tensor.texts_given) {
    if (data.size() % element_size(tensor.type) != 0) {
      fail_usage("{}: binary_data_size: expected a multiple of {} bytes, got {}", tensor.name,
                 element_size(tensor.type), data.size());
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
    tensor.numbers.assign(bytes, bytes + data.size());
    return;
  }
  while (!data.empty()) {
    std::uint32_t length = 0;
    if (data.size() >= sizeof length) std::memcpy(&length, data.data(), sizeof length);
    if (data.size() < sizeof length || length > data.size() - sizeof length) {
      fail_usage("{}: binary data: text {} ends past the tensor", tensor.name, tensor.texts.size());
    }
    tensor.texts.emplace_back(data.substr(sizeof length, length));
    data.remove_prefix(sizeof length + length);
  }
}

/// The tensor's bytes of the binary data, which are dropped from it; none where its JSON has the data.
std::optional<std::string_view> find_binary(const json& input, const std::string& where, std::string_view& binary) {
  const auto parameters = input.find("parameters");
  if (parameters == input.end() || !parameters->is_object()) return std::nullopt;
  const auto size = parameters->find("binary_data_size");
  if (size == parameters->end()) return std::nullopt;
  if (!size->is_number_integer() || *size < 0 || *size > binary.size()) {
    fail_usage(
        "{}: binary_data_size: expected 0 to the {} bytes that are left of the binary data after the JSON, whose "
        "length the header Inference-Header-Content-Length says",
        where, binary.size());
  }
  const std::string_view data = binary.substr(0, size->get<std::size_t>());
  binary.remove_prefix(data.size());
  return data;
}

}  // namespace

std::string_view name_datatype(DType dtype) {
  const auto found = std::ranges::find(datatypes, dtype, &Datatype::dtype);
  if (found == datatypes.end()) fail_invariant("a tensor has a type that no client reads");
  return found->name;
}

RequestTensor parse_tensor(const json& input, std::int64_t most_elements, std::string_view& binary) {
  const auto text = [](const json& value) { return value.is_string(); };
  const auto list = [](const json& value) { return value.is_array(); };
  RequestTensor tensor;
  tensor.name = get_member(input, "name", "inputs", text, "a text").get<std::string>();
  const std::string where = tensor.name.substr(0, 40);
  tensor.shape = parse_shape(get_member(input, "shape", where.c_str(), list, "a list"), where, most_elements);
  const auto datatype = get_member(input, "datatype", where.c_str(), text, "a text").get<std::string>();
  set_type(datatype, tensor);
  if (const auto data = find_binary(input, where, binary)) {
    take_binary(*data, tensor);
  } else {
    take_data(get_member(input, "data", where.c_str(), list, "a list"), tensor);
  }
  std::size_t elements = 1;
  for (const std::int64_t side : tensor.shape) elements *= static_cast<std::size_t>(side);
  const std::size_t found =
      tensor.texts_given ? tensor.texts.size() : tensor.numbers.size() / element_size(tensor.type);
  if (found != elements) fail_usage("{}: data: {} elements, expected {} by its shape", where, found, elements);
  return tensor;
}

}  // namespace ptrain
