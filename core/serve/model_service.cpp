#include "core/serve/model_service.h"

#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/tensor_names.h"
#include "core/io/json_text.h"
#include "core/report/build_info.h"
#include "core/serve/request_tensors.h"

#include <fmt/ranges.h>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr const char* text_input = "text";
constexpr std::int64_t largest_tensor = std::int64_t{1} << 28;

std::string to_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

const char* name_datatype(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return "UINT8";
    case TensorType::i32:
      return "INT32";
    case TensorType::i64:
      return "INT64";
    case TensorType::f32:
      return "FP32";
  }
  return nullptr;
}

const char* name_datatype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "FP32";
    case DType::i64:
      return "INT64";
    case DType::i32:
      return "INT32";
    case DType::u8:
      return "UINT8";
    default:
      fail_invariant("an output has a type that no client reads");
  }
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

json describe_tensor(std::string_view name, const char* datatype, const std::vector<std::int64_t>& shape) {
  return {{"name", name}, {"datatype", datatype}, {"shape", shape}};
}

/// Encodes the sentences of an input named `text` by the model's vocabulary.
Batch encode_texts(const DatasetInfo& data, const TextEncoder& encoder, std::span<const std::string> texts,
                   std::int64_t most) {
  if (texts.empty()) fail_usage("{}: is empty: expected at least one input", text_input);
  if (static_cast<std::int64_t>(texts.size()) > most) {
    fail_usage("{}: {} inputs, expected at most {}", text_input, texts.size(), most);
  }
  Batch batch(input_tensors(data), static_cast<std::int64_t>(texts.size()));
  batch.count = batch.rows();
  Scratch scratch;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!is_utf8(texts[i])) fail_usage("{}: {}: not UTF-8", text_input, i);
    const SampleRow row(batch, static_cast<std::int64_t>(i));
    row.set(tensor_names::lengths,
            encoder.encode(split_sentences(texts[i]), scratch, row.at<std::int32_t>(tensor_names::ids),
                           row.at<std::int32_t>(tensor_names::token_types)));
  }
  return batch;
}

/// Whether a request wants this output: it names it, or names none.
bool wants_output(const json& request, std::string_view name) {
  const auto outputs = request.find("outputs");
  if (outputs == request.end()) return true;
  return std::any_of(outputs->begin(), outputs->end(), [&](const json& output) { return output.at("name") == name; });
}

}  // namespace

ServiceAnswer error_answer(int status, const std::string& message) { return {status, to_text({{"error", message}})}; }

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
}

ServiceAnswer ModelService::server() const {
  return {200, to_text({{"name", "ptrain"}, {"version", build_info().version}, {"extensions", json::array()}})};
}

ServiceAnswer ModelService::model() const {
  json inputs = json::array();
  if (encoder_) inputs.push_back(describe_tensor(text_input, "BYTES", {-1}));
  for (const ClientTensor& tensor : client_tensors(data_)) {
    inputs.push_back(describe_tensor(tensor.name, name_datatype(tensor.type), tensor.shape));
  }
  json outputs = json::array();
  for (const TensorSpec& output : outputs_) {
    outputs.push_back(describe_tensor(output.name, name_datatype(output.dtype), with_rows(-1, output.shape).dims()));
  }
  return {200, to_text({{"name", name_},
                        {"versions", json::array()},
                        {"platform", "ptrain"},
                        {"inputs", inputs},
                        {"outputs", outputs},
                        {"parameters", {{"class_names", data_.class_names}, {"max_batch", most_}}}})};
}

Batch ModelService::batch_of_body(const json& request) const {
  if (!request.is_object()) fail_usage("the body is not a JSON object");
  const auto inputs = request.find("inputs");
  if (inputs == request.end() || !inputs->is_array() || inputs->empty()) {
    fail_usage("inputs: expected a list of tensors");
  }
  constexpr std::size_t most_inputs = 8;
  if (inputs->size() > most_inputs) fail_usage("inputs: {} tensors, expected at most {}", inputs->size(), most_inputs);
  require_outputs(request);
  std::vector<RequestTensor> tensors;
  for (const json& input : *inputs) tensors.push_back(parse_tensor(input, largest_tensor));
  if (encoder_ && tensors.size() == 1 && tensors[0].name == text_input) {
    if (!tensors[0].texts_given) fail_usage("{}: datatype: expected BYTES", text_input);
    return encode_texts(data_, *encoder_, tensors[0].texts, most_);
  }
  std::vector<InputTensor> views;
  for (const RequestTensor& tensor : tensors) {
    if (tensor.texts_given) fail_usage("{}: datatype: expected numbers, got BYTES", tensor.name);
    views.push_back(tensor.view());
  }
  return make_batch(data_, views, most_);
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
  for (const auto& [spec, tensor] : answers.entries()) {
    if (!wants_output(request, spec.name)) continue;
    json output = describe_tensor(spec.name, name_datatype(spec.dtype), tensor.shape().dims());
    output["data"] = to_data(tensor);
    outputs.push_back(std::move(output));
  }
  json answer{{"model_name", name_}, {"outputs", std::move(outputs)}};
  if (const auto id = request.find("id"); id != request.end() && id->is_string()) answer["id"] = *id;
  return {200, to_text(answer)};
}

ServiceAnswer ModelService::infer(std::string_view body) const {
  const Stopwatch watch;
  auto answer = [&]() -> ServiceAnswer {
    try {
      const json request = parse_json(body);
      if (request.is_discarded())
        return error_answer(400, fmt::format("the body is not complete JSON of at most {} levels", deepest_json));
      Batch batch = batch_of_body(request);
      return make_answer(request, task_.answers(batcher_.submit(std::move(batch))));
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
