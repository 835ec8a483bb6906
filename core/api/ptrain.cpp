#include "core/api/ptrain.h"

#include "core/api/session.h"
#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/report/build_info.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>

using namespace ptrain;

struct ptrain_model {
  api::Session session;
};

namespace {

std::string& last_error() {
  static thread_local std::string message;
  return message;
}

/// One line of a length for a log: control characters are escaped, the middle of what is longer is left out.
std::string to_line(std::string_view message) {
  constexpr std::size_t most = 1024;
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f)
      line += c;
    else
      line += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", byte);
  }
  if (line.size() <= most) return line;
  const auto is_within_character = [&](std::size_t at) { return (line[at] & 0xc0) == 0x80; };
  std::size_t left = most / 2, right = line.size() - most / 2;
  while (left > 0 && is_within_character(left)) --left;
  while (right < line.size() && is_within_character(right)) ++right;
  return line.substr(0, left) + " ... " + line.substr(right);
}

ptrain_status complain(ptrain_status status, const char* message) noexcept {
  try {
    last_error() = to_line(message);
  } catch (...) {  // no memory for the message; the status remains
    last_error().clear();
  }
  return status;
}

/// Runs `body` and returns its status; no exception escapes.
template <typename Body>
ptrain_status guarded(Body&& body) noexcept {
  try {
    body();
    return PTRAIN_OK;
  } catch (const OutOfMemory& error) {
    return complain(PTRAIN_OUT_OF_MEMORY, error.what());
  } catch (const Error& error) {
    return complain(error.code() == ExitCode::usage ? PTRAIN_INVALID : PTRAIN_FAILED, error.what());
  } catch (const std::bad_alloc&) {
    return complain(PTRAIN_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return complain(PTRAIN_FAILED, error.what());
  } catch (...) {
    return complain(PTRAIN_FAILED, "unknown error");
  }
}

template <typename T>
T& require_pointer(T* pointer, const char* name) {
  if (pointer == nullptr) fail_usage("{}: is a null pointer", name);
  return *pointer;
}

template <typename E>
E check_choice(const char* value, const char* name, E otherwise) {
  if (value == nullptr) return otherwise;
  if (const auto chosen = choice_from_name<E>(value)) return *chosen;
  fail_usage("options.{}: expected {}, got \"{}\"", name, fmt::join(EnumNames<E>::names, "|"), value);
}

api::Settings make_settings(const char* folder, const ptrain_options& options) {
  constexpr std::int64_t most_batch = 65536, most_threads = 4096;
  api::Settings settings;
  settings.folder = &require_pointer(folder, "folder");
  if (settings.folder.empty()) fail_usage("folder: is empty: expected the folder of an exported model");
  if (options.device != nullptr) settings.device = device_of_option("options.device", options.device);
  settings.precision = check_choice(options.precision, "precision", settings.precision);
  if (options.max_batch < 0 || options.max_batch > most_batch) {
    fail_usage("options.max_batch: expected 1 to {}, got {}", most_batch, options.max_batch);
  }
  if (options.threads < 0 || options.threads > most_threads) {
    fail_usage("options.threads: expected 1 to {}, got {}", most_threads, options.threads);
  }
  if (options.search != 0 && options.search != 1) fail_usage("options.search: expected 0 or 1, got {}", options.search);
  if (options.max_batch > 0) settings.max_batch = options.max_batch;
  settings.search = options.search != 0;
  settings.threads = options.threads;
  return settings;
}

ptrain_kind to_kind(const DatasetInfo& data) {
  switch (data.kind) {
    case DataKind::image:
      return data.frames > 0 ? PTRAIN_CLIPS : PTRAIN_IMAGES;
    case DataKind::table:
      return PTRAIN_TABLES;
    case DataKind::video:
      return PTRAIN_VIDEOS;
    case DataKind::parallel:
      return PTRAIN_TRANSLATIONS;
    case DataKind::text:
    case DataKind::tokens:
      break;
  }
  return PTRAIN_TEXTS;
}

DType to_dtype(const ptrain_tensor& tensor) {
  switch (tensor.type) {
    case PTRAIN_UINT8:
      return DType::u8;
    case PTRAIN_INT32:
      return DType::i32;
    case PTRAIN_INT64:
      return DType::i64;
    case PTRAIN_FLOAT32:
      return DType::f32;
  }
  fail_usage("{}: {} is not a ptrain_type", quoted_name(tensor.name), static_cast<int>(tensor.type));
}

std::vector<InputTensor> make_tensors(const ptrain_tensor* inputs, std::size_t count) {
  constexpr std::size_t most_inputs = 8;
  constexpr std::int32_t most_axes = 8;
  if (count > most_inputs) fail_usage("{} inputs, expected at most {}", count, most_inputs);
  std::vector<InputTensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const ptrain_tensor& input = (&require_pointer(inputs, "inputs"))[i];
    require_pointer(input.name, "inputs: a name");
    if (input.rank < 0 || input.rank > most_axes) fail_usage("{}: rank {}", quoted_name(input.name), input.rank);
    if (input.rank > 0) require_pointer(input.shape, quoted_name(input.name).c_str());
    tensors.push_back({input.name, to_dtype(input), {input.shape, static_cast<std::size_t>(input.rank)}, input.data});
  }
  return tensors;
}

ptrain_type to_public_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return PTRAIN_UINT8;
    case DType::i32:
      return PTRAIN_INT32;
    case DType::i64:
      return PTRAIN_INT64;
    default:
      return PTRAIN_FLOAT32;
  }
}

/// Runs the inputs and copies that output tensor; `room` counts elements of the given size.
void run(api::Session& session, std::span<const InputTensor> inputs, std::string_view answer, void* to,
         std::size_t room, std::size_t element_bytes) {
  if (session.translates()) fail_usage("the model translates, and reads texts alone: use ptrain_translate");
  const auto spec = std::ranges::find(session.answers(), answer, &TensorSpec::name);
  if (spec == session.answers().end()) {
    std::vector<std::string> names;
    for (const TensorSpec& one : session.answers()) names.push_back(one.name);
    fail_usage("the model has no output {}, expected {}", quoted_name(std::string(answer)), fmt::join(names, " or "));
  }
  const std::size_t each = static_cast<std::size_t>(spec->shape.count()) * element_size(spec->dtype) / element_bytes;
  if (!inputs.empty() && !inputs[0].shape.empty() && inputs[0].shape[0] > 0 &&
      static_cast<std::size_t>(inputs[0].shape[0]) > room / each) {
    fail_usage("room: {} {}, expected {} for each of {} inputs", room, element_bytes == 1 ? "bytes" : "values", each,
               inputs[0].shape[0]);
  }
  const Batch answers = session.run(inputs);
  const auto bytes = answers.at(answer).bytes();
  std::memcpy(to, bytes.data(), bytes.size());
}

}  // namespace

extern "C" {

const char* ptrain_version(void) {
  static const std::string version = build_info().version;
  return version.c_str();
}

const char* ptrain_last_error(void) { return last_error().c_str(); }

ptrain_status ptrain_open(const char* folder, const ptrain_options* options, ptrain_model** model) {
  return guarded([&] {
    require_pointer(model, "model") = nullptr;
    *model = new ptrain_model{api::Session(make_settings(folder, options == nullptr ? ptrain_options{} : *options))};
  });
}

ptrain_status ptrain_clone(const ptrain_model* model, ptrain_model** clone) {
  return guarded([&] {
    require_pointer(clone, "clone") = nullptr;
    *clone = new ptrain_model{api::Session(require_pointer(model, "model").session.settings())};
  });
}

void ptrain_close(ptrain_model* model) { delete model; }

ptrain_status ptrain_describe(const ptrain_model* model, ptrain_description* description) {
  return guarded([&] {
    const api::Session& session = require_pointer(model, "model").session;
    const DatasetInfo& data = session.data();
    require_pointer(description, "description") = {to_kind(data),
                                                   session.translates() ? 0 : data.classes,
                                                   session.settings().max_batch,
                                                   data.image_size.is_square() ? data.image_size.height : 0,
                                                   data.max_length,
                                                   data.vocab_size};
  });
}

size_t ptrain_input_count(const ptrain_model* model) { return model == nullptr ? 0 : model->session.inputs().size(); }

ptrain_status ptrain_input(const ptrain_model* model, size_t index, ptrain_input_description* description) {
  return guarded([&] {
    const std::vector<ClientTensor>& inputs = require_pointer(model, "model").session.inputs();
    if (index >= inputs.size()) fail_usage("index: the model reads {} tensors, got {}", inputs.size(), index);
    const ClientTensor& input = inputs[index];
    require_pointer(description, "description") = {input.name.c_str(), to_public_type(input.type),
                                                   static_cast<std::int32_t>(input.shape.size()), input.shape.data(),
                                                   input.limit};
  });
}

size_t ptrain_answer_count(const ptrain_model* model) { return model == nullptr ? 0 : model->session.answers().size(); }

ptrain_status ptrain_answer(const ptrain_model* model, size_t index, ptrain_answer_description* description) {
  return guarded([&] {
    const api::Session& session = require_pointer(model, "model").session;
    if (index >= session.answers().size()) {
      fail_usage("index: the model has {} outputs, got {}", session.answers().size(), index);
    }
    const TensorSpec& answer = session.answers()[index];
    const std::vector<std::int64_t>& shape = session.answer_shape(index).dims();
    require_pointer(description, "description") = {answer.name.c_str(), to_public_type(answer.dtype),
                                                   static_cast<std::int32_t>(shape.size()), shape.data(), answer.limit};
  });
}

const char* ptrain_class_name(const ptrain_model* model, int64_t index) {
  const char* name = nullptr;
  guarded([&] {
    const std::vector<std::string>& names = require_pointer(model, "model").session.data().class_names;
    if (index < 0 || index >= static_cast<std::int64_t>(names.size())) {
      fail_usage("index: expected 0 to {}, got {}", names.size() - 1, index);
    }
    name = names[static_cast<std::size_t>(index)].c_str();
  });
  return name;
}

ptrain_status ptrain_encode_image(const ptrain_model* model, const void* file, size_t bytes, uint8_t* pixels) {
  return guarded([&] {
    const api::Session& session = require_pointer(model, "model").session;
    const auto pixels_of_one = static_cast<std::size_t>(session.data().image_size.pixels());
    session.encode_image({&require_pointer(static_cast<const std::uint8_t*>(file), "file"), bytes},
                         {&require_pointer(pixels, "pixels"), pixels_of_one * 3});
  });
}

ptrain_status ptrain_encode_text(const ptrain_model* model, const char* text, int32_t* input_ids,
                                 int32_t* attention_mask, int32_t* token_type_ids) {
  return guarded([&] {
    const api::Session& session = require_pointer(model, "model").session;
    const auto length = static_cast<std::size_t>(session.data().max_length);
    std::vector<std::int32_t> types(length);
    const std::span<std::int32_t> ids(&require_pointer(input_ids, "input_ids"), length);
    const std::int32_t tokens = session.encode_text(&require_pointer(text, "text"), ids, types);
    if (attention_mask != nullptr) {
      for (std::size_t i = 0; i < length; ++i) attention_mask[i] = i < static_cast<std::size_t>(tokens) ? 1 : 0;
    }
    if (token_type_ids != nullptr) std::copy(types.begin(), types.end(), token_type_ids);
  });
}

ptrain_status ptrain_run(ptrain_model* model, const ptrain_tensor* inputs, size_t count, ptrain_output output,
                         float* values, size_t room) {
  return guarded([&] {
    api::Session& session = require_pointer(model, "model").session;
    if (output != PTRAIN_LOGITS && output != PTRAIN_PROBABILITIES) {
      fail_usage("output: {} is not a ptrain_output", static_cast<int>(output));
    }
    require_pointer(values, "values");
    const bool logits = output == PTRAIN_LOGITS;
    run(session, make_tensors(inputs, count), logits ? tensor_names::logits : tensor_names::probabilities, values, room,
        sizeof(float));
  });
}

ptrain_status ptrain_run_answer(ptrain_model* model, const ptrain_tensor* inputs, size_t count, const char* answer,
                                void* data, size_t bytes) {
  return guarded([&] {
    api::Session& session = require_pointer(model, "model").session;
    require_pointer(answer, "answer");
    require_pointer(static_cast<std::byte*>(data), "data");
    run(session, make_tensors(inputs, count), answer, data, bytes, 1);
  });
}

ptrain_status ptrain_translate(ptrain_model* model, const char* const* texts, size_t count, char* translations,
                               size_t room, size_t* bytes) {
  return guarded([&] {
    api::Session& session = require_pointer(model, "model").session;
    std::vector<std::string> sources;
    for (std::size_t i = 0; i < count; ++i) {
      sources.emplace_back(&require_pointer((&require_pointer(texts, "texts"))[i], "texts: one of them"));
    }
    std::string written;
    for (const std::string& translation : session.translate(sources)) written.append(translation).push_back('\0');
    if (bytes != nullptr) *bytes = written.size();
    if (written.size() > room) fail_usage("room: {} bytes, expected {}", room, written.size());
    if (!written.empty()) std::memcpy(&require_pointer(translations, "translations"), written.data(), written.size());
  });
}

}  // extern "C"
