#include "core/serve/model_service.h"

#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"
#include "core/report/build_info.h"
#include "core/serve/base64.h"
#include "core/serve/request_tensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr const char* text_input = "text";
constexpr std::size_t listed_classes = 5;   // of a prediction
constexpr std::int64_t most_images = 1024;  // of a request
constexpr std::int64_t most_rows = 65536;   // of a request
constexpr std::int64_t largest_tensor = std::int64_t{1} << 28;

template <typename Json>
std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

json to_data(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32:
      return tensor.values<float>();
    case DType::i64:
      return tensor.values<std::int64_t>();
    case DType::i32:
      return tensor.values<std::int32_t>();
    default:
      return tensor.values<std::uint8_t>();
  }
}

/// Appends the data in the form of binary tensors.
void append_text(std::string_view text, std::string& binary) {
  const auto length = static_cast<std::uint32_t>(text.size());
  binary.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

/// How a client wants an output.
struct OutputForm {
  bool binary = false;
  std::int64_t classes = 0;  // 0: the tensor's values; else as many of the highest, as texts "value:index:name"
};

/// The highest values of each row: "value:index", or "value:index:name" where classes have names.
std::vector<std::string> rank_classes(const HostTensor& tensor, std::int64_t count,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  const std::int64_t each = tensor.row_count();
  std::vector<std::size_t> order(static_cast<std::size_t>(each));
  for (std::int64_t row = 0; row < tensor.rows(); ++row) {
    const auto values = tensor.row<float>(row);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) { return values[one] > values[other]; });
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      texts.push_back(fmt::format("{:f}:{}", values[order[i]], order[i]));
      if (order.size() == names.size()) texts.back() += ":" + names[order[i]];
    }
  }
  return texts;
}

json describe_tensor(std::string_view name, std::string_view datatype, const std::vector<std::int64_t>& shape) {
  return {{"name", name}, {"datatype", datatype}, {"shape", shape}};
}

/// Checks the texts of an input named `text`.
void require_texts(std::span<const std::string> texts) {
  if (texts.empty()) fail_usage("{}: is empty: expected at least one input", text_input);
  if (std::ssize(texts) > most_rows) {
    fail_usage("{}: {} inputs, expected at most {}", text_input, texts.size(), most_rows);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!is_utf8(texts[i])) fail_usage("{}: {}: not UTF-8", text_input, i);
  }
}

/// Encodes sentences by the model's vocabulary.
Batch encode_texts(const DatasetInfo& data, const TextEncoder& encoder, std::span<const std::string> texts) {
  Batch batch(input_tensors(data), static_cast<std::int64_t>(texts.size()));
  batch.count = batch.rows();
  Scratch scratch;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const SampleRow row(batch, static_cast<std::int64_t>(i));
    row.set(tensor_names::lengths,
            encoder.encode(split_sentences(texts[i]), scratch, row.at<std::int32_t>(tensor_names::ids),
                           row.at<std::int32_t>(tensor_names::token_types)));
  }
  return batch;
}

/// The tensors that a model computes from.
Batch only_inputs(const Batch& batch, const DatasetInfo& data) {
  Batch inputs(input_tensors(data), batch.rows());
  inputs.count = batch.count;
  for (const Batch::Entry& entry : inputs.entries()) inputs.at(entry.spec.name) = batch.at(entry.spec.name);
  return inputs;
}

const json* find_parameter(const json& object, const char* name) {
  const auto parameters = object.find("parameters");
  if (parameters == object.end() || !parameters->is_object()) return nullptr;
  const auto found = parameters->find(name);
  return found == parameters->end() ? nullptr : &*found;
}

bool read_flag(const json& object, const char* name, bool otherwise) {
  const json* const value = find_parameter(object, name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail_usage("{}: expected true or false", name);
  return value->get<bool>();
}

/// The form in which a request wants this output; none where it names others only.
std::optional<OutputForm> find_form(const json& request, const TensorSpec& spec) {
  const bool binary = read_flag(request, "binary_data_output", false);
  const auto outputs = request.find("outputs");
  if (outputs == request.end() || outputs->empty()) return OutputForm{binary, 0};
  const auto named = std::ranges::find_if(*outputs, [&](const json& one) { return one.at("name") == spec.name; });
  if (named == outputs->end()) return std::nullopt;
  OutputForm form{read_flag(*named, "binary_data", binary), 0};
  if (const json* const classes = find_parameter(*named, "classification")) {
    const bool fits =
        spec.dtype == DType::f32 && spec.shape.rank() == 1 && classes->is_number_integer() && *classes >= 1;
    if (!fits) fail_usage("{}: classification: expected a number from 1 on, of an output of classes", spec.name);
    form.classes = std::min(classes->get<std::int64_t>(), spec.shape[0]);
  }
  return form;
}

}  // namespace

ServiceAnswer error_answer(int status, const std::string& message) {
  return {status, to_text(json{{"error", message}})};
}

ModelService::ModelService(const LoadedModel& opened, std::vector<TensorSpec> outputs, std::string name,
                           Batcher& batcher, std::int64_t most, ServeMetrics& metrics)
    : data_(opened.trained.data),
      task_(*opened.task),
      outputs_(std::move(outputs)),
      name_(std::move(name)),
      batcher_(batcher),
      most_(most),
      metrics_(metrics) {
  if (data_.kind == DataKind::text && opened.trained.has_vocabulary()) encoder_.emplace(opened.trained);
  if (task_.translates()) translation_.emplace(opened.trained);
  if (data_.kind == DataKind::image && data_.frames == 0) images_.emplace(data_);
}

std::vector<ClientTensor> ModelService::number_inputs() const {
  return translation_ ? std::vector<ClientTensor>() : client_tensors(data_);
}

ServiceAnswer ModelService::server() const {
  return {200, to_text(json{{"name", "ptrain"},
                            {"version", build_info().version},
                            {"extensions", {"binary_tensor_data", "classification"}}})};
}

ServiceAnswer ModelService::model() const {
  json inputs = json::array();
  if (reads_texts()) inputs.push_back(describe_tensor(text_input, "BYTES", {-1}));
  for (const ClientTensor& tensor : number_inputs()) {
    inputs.push_back(describe_tensor(tensor.name, name_datatype(tensor.type), tensor.shape));
  }
  json outputs = json::array();
  if (translation_) outputs.push_back(describe_tensor(translation_output, "BYTES", {-1}));
  for (const TensorSpec& output : outputs_) {
    if (translation_) break;
    outputs.push_back(describe_tensor(output.name, name_datatype(output.dtype), with_rows(-1, output.shape).dims()));
  }
  return {200, to_text(json{{"name", name_},
                            {"versions", {model_version}},
                            {"platform", "ptrain"},
                            {"inputs", inputs},
                            {"outputs", outputs},
                            {"parameters", {{"class_names", data_.class_names}, {"max_batch", most_}}}})};
}

void ModelService::require_input_name(const json& input) const {
  const auto name = input.is_object() ? input.find("name") : input.end();
  if (!input.is_object() || name == input.end() || !name->is_string()) return;  // said where it is parsed
  std::vector<std::string> known;
  if (reads_texts()) known.emplace_back(text_input);
  for (const ClientTensor& tensor : number_inputs()) known.push_back(tensor.name);
  if (std::ranges::find(known, tensor_names::current_name(name->get_ref<const std::string&>())) != known.end()) return;
  fail_usage("unknown input {}; the model has {}", quoted_name(name->get<std::string>()), fmt::join(known, ", "));
}

Batch ModelService::batch_of_body(const json& request, std::string_view binary) const {
  if (!request.is_object()) fail_usage("the body is not a JSON object");
  const auto inputs = request.find("inputs");
  if (inputs == request.end() || !inputs->is_array() || inputs->empty()) {
    fail_usage("inputs: expected a list of tensors");
  }
  constexpr std::size_t most_inputs = 8;
  if (inputs->size() > most_inputs) fail_usage("inputs: {} tensors, expected at most {}", inputs->size(), most_inputs);
  require_outputs(request);
  std::vector<RequestTensor> tensors;
  for (const json& input : *inputs) require_input_name(input);
  for (const json& input : *inputs) tensors.push_back(parse_tensor(input, largest_tensor, binary));
  if (!binary.empty()) fail_usage("{} bytes of binary data are no tensor's", binary.size());
  if (reads_texts() && tensors.size() == 1 && tensors[0].name == text_input) {
    if (!tensors[0].texts_given) fail_usage("{}: datatype: expected BYTES", text_input);
    return batch_of_texts(tensors[0].texts);
  }
  if (images_ && tensors.size() == 1 && tensors[0].texts_given) {
    std::vector<std::string> files;
    for (const std::string& text : tensors[0].texts) files.push_back(decode_base64(text).value_or(text));
    const std::vector<std::string_view> images(files.begin(), files.end());
    return only_inputs(read_images(images), data_);
  }
  std::vector<InputTensor> views;
  for (const RequestTensor& tensor : tensors) {
    if (reads_texts() && tensor.name == text_input) fail_usage("{}: expected as the only input", text_input);
    if (tensor.texts_given) fail_usage("{}: datatype: expected numbers, got BYTES", tensor.name);
    views.push_back(tensor.view());
  }
  return make_batch(data_, views, most_rows);
}

Batch ModelService::batch_of_texts(std::span<const std::string> texts) const {
  require_texts(texts);
  return translation_ ? make_source_batch(data_, *translation_, texts) : encode_texts(data_, *encoder_, texts);
}

void ModelService::require_outputs(const json& request) const {
  const auto outputs = request.find("outputs");
  if (outputs == request.end()) return;
  if (!outputs->is_array()) fail_usage("outputs: expected a list");
  for (const json& output : *outputs) {
    const bool known = output.is_object() && output.contains("name") &&
                       std::ranges::any_of(outputs_, [&](const TensorSpec& one) { return output["name"] == one.name; });
    if (known) continue;
    std::vector<std::string> names;
    for (const TensorSpec& one : outputs_) names.push_back(one.name);
    fail_usage("outputs: expected objects named {}", fmt::join(names, " or "));
  }
}

ServiceAnswer ModelService::make_answer(const json& request, const Batch& answers) const {
  json outputs = json::array();
  std::string binary;
  bool any_binary = false;
  for (const auto& [spec, tensor] : answers.entries()) {
    const std::optional<OutputForm> form = find_form(request, spec);
    if (!form) continue;
    json output = describe_tensor(spec.name, name_datatype(spec.dtype), tensor.shape().dims());
    std::vector<std::string> texts;
    const bool as_texts = translation_ || form->classes > 0;
    if (translation_) {
      texts = decode_translations(*translation_, tensor);
      output = describe_tensor(spec.name, "BYTES", {tensor.rows()});
    } else if (as_texts) {
      texts = rank_classes(tensor, form->classes, data_.class_names);
      output = describe_tensor(spec.name, "BYTES", {tensor.rows(), form->classes});
    }
    if (!form->binary) {
      output["data"] = as_texts ? json(texts) : to_data(tensor);
    } else {
      any_binary = true;
      const std::size_t before = binary.size();
      for (const std::string& text : texts) append_text(text, binary);
      if (!as_texts) binary.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
      output["parameters"] = {{"binary_data_size", binary.size() - before}};
    }
    outputs.push_back(std::move(output));
  }
  json answer{{"model_name", name_}, {"model_version", model_version}, {"outputs", std::move(outputs)}};
  if (const auto id = request.find("id"); id != request.end() && id->is_string()) answer["id"] = *id;
  std::string body = to_text(answer);
  if (!any_binary) return {200, std::move(body)};
  const std::size_t json_bytes = body.size();
  return {200, std::move(body) + binary, json_bytes};
}

Batch ModelService::compute(Batch batch) const {
  const std::int64_t count = batch.count;
  if (count <= most_) return batcher_.submit(std::move(batch));
  Batch scores;
  for (std::int64_t from = 0; from < count; from += most_) {
    Batch part = batcher_.submit(batch.slice(from, std::min(most_, count - from)));
    if (from == 0)
      scores = std::move(part);
    else
      scores.append(part);
  }
  return scores;
}

Batch ModelService::read_images(std::span<const std::string_view> images) const {
  if (!images_) fail_usage("the body is an image, but the model reads no single images");
  if (images.empty()) fail_usage("expected at least one image");
  if (static_cast<std::int64_t>(images.size()) > most_images) {
    fail_usage("{} images, expected at most {}", images.size(), most_images);
  }
  Batch batch(images_->tensors(), static_cast<std::int64_t>(images.size()));
  batch.count = batch.rows();
  Scratch scratch;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(images[i].data()), images[i].size());
    try {
      images_->read(bytes, fmt::format("image {}", i), SampleRandom(0, 0, row), scratch, SampleRow(batch, row));
    } catch (const BadSample& bad) {
      fail_usage("{}", bad.what());
    }
  }
  return batch;
}

ServiceAnswer ModelService::predict(std::span<const std::string_view> images) const {
  return answer([&]() -> ServiceAnswer {
    const Batch batch = read_images(images);
    const Batch scores = compute(only_inputs(batch, data_));
    Prediction::Json body{{"model_name", name_}, {"model_version", model_version}};
    body["predictions"] = Prediction::Json::array();
    for (const Prediction& one : task_.predictions(batch, scores, {listed_classes, data_.class_names})) {
      body["predictions"].push_back(one.details);
    }
    return {200, to_text(body)};
  });
}

ServiceAnswer ModelService::infer(std::string_view body, std::optional<std::size_t> json_bytes) const {
  return answer([&]() -> ServiceAnswer {
    const json request = parse_json(body.substr(0, json_bytes.value_or(body.size())));
    if (request.is_discarded())
      return error_answer(400, fmt::format("the body is not complete JSON of at most {} levels{}", deepest_json,
                                           json_bytes ? ""
                                                      : "; before binary tensors its length is the header "
                                                        "Inference-Header-Content-Length"));
    Batch batch = batch_of_body(request, body.substr(json_bytes.value_or(body.size())));
    return make_answer(request, task_.answers(compute(std::move(batch))));
  });
}

ServiceAnswer ModelService::answer(const std::function<ServiceAnswer()>& make) const {
  const Stopwatch watch;
  ServiceAnswer answer = [&]() -> ServiceAnswer {
    try {
      return make();
    } catch (const QueueFull& full) {
      return error_answer(503, full.what());
    } catch (const Error& error) {
      return error_answer(error.code() == ExitCode::usage ? 400 : 500, error.what());
    } catch (const std::bad_alloc&) {
      return error_answer(500, "out of memory");
    } catch (const std::exception& error) {
      return error_answer(500, error.what());
    }
  }();
  metrics_.count_request(answer.status, watch.seconds());
  return answer;
}

}  // namespace ptrain
