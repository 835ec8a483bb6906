#include "core/api/session.h"
#include "core/base/parallel.h"

#include "core/base/control_group.h"
#include "core/base/utf8.h"
#include "core/cpu/cpu_backend.h"
#include "core/cuda/cuda_backend.h"
#include "core/data/image/image_transform.h"
#include "models/model_registry.h"

#include <unistd.h>

#include <algorithm>

namespace ptrain::api {
namespace {

std::unique_ptr<Backend> make_backend(const DeviceChoice& device) {
  const bool cuda =
      device.kind == DeviceKind::cuda || (device.kind == DeviceKind::automatic && cuda::unavailable_reason().empty());
  return cuda ? cuda::make_backend(device.gpu.value_or(0)) : cpu::make_backend();
}

Settings complete_settings(Settings settings) {
  settings.folder = std::filesystem::absolute(settings.folder);  // so that clones find it after a change of directory
  if (settings.threads == 0) {
    const auto cpus = control_group_limits().cpus;
    settings.threads = cpus ? std::clamp(static_cast<int>(*cpus), 1, thread_count()) : thread_count();
  }
  return settings;
}

DeployOptions make_deploy_options(const Settings& settings, const LoadedModel& opened, DType preferred) {
  DeployOptions options;
  options.batch_size = settings.max_batch;
  options.max_length = opened.trained.data.max_length;
  options.amp.level = settings.precision;
  options.amp.dtype = preferred;
  options.kernels.exhaustive_search = settings.search;
  return options;
}

}  // namespace

Session::Session(Settings settings)
    : settings_(complete_settings(std::move(settings))),
      opened_(open_model(settings_.folder, model_entries(), make_model)),
      inputs_(client_tensors(opened_.trained.data)) {
  require_answers(opened_, "this interface");
  const std::string& hash = opened_.trained.document.hash;  // of model.json, which has the checksums of all files
  if (settings_.model_hash.empty()) settings_.model_hash = hash;
  if (settings_.model_hash != hash) {
    fail("{}: holds another model than the one that was opened; open it anew in place of a clone",
         settings_.folder.string());
  }
  computing_.run(settings_.threads, [this] {
    if (opened_.trained.data.kind == DataKind::text && opened_.trained.has_vocabulary()) {
      encoder_.emplace(opened_.trained);
    }
    backend_ = make_backend(settings_.device);
    predictor_.emplace(*backend_, *opened_.model, *opened_.task, opened_.trained.weights(),
                       make_deploy_options(settings_, opened_, backend_->kernels().preferred_low_precision()));
  });
  process_ = ::getpid();
  for (const TensorSpec& answer : answers()) answer_shapes_.push_back(with_rows(-1, answer.shape));
}

void Session::encode_image(std::span<const std::uint8_t> file, std::span<std::uint8_t> pixels) const {
  if (data().kind != DataKind::image) fail_usage("the model reads no images");
  if (data().frames > 0) fail_usage("the model reads clips, not single images");
  Scratch scratch;
  SampleRandom random(0, 0, 0);  // evaluations use no randomness
  ImageTransform(data().image_size, Augmentation::none, data().orientation)
      .apply_encoded(file, "the image", random, scratch, pixels);
}

std::int32_t Session::encode_text(std::string_view text, std::span<std::int32_t> ids,
                                  std::span<std::int32_t> types) const {
  if (data().kind != DataKind::text) fail_usage("the model reads no texts");
  if (!encoder_) fail("{}: has no {}, so it reads token ids only", settings_.folder.string(), model_files::vocabulary);
  if (!is_utf8(text)) fail_usage("the text is not UTF-8");
  Scratch scratch;
  return encoder_->encode(split_sentences(text), scratch, ids, types);
}

Batch Session::run(std::span<const InputTensor> inputs) {
  Batch batch = make_batch(data(), inputs, settings_.max_batch);
  if (process_ != ::getpid() && backend_->name() != "cpu") {
    fail("the model was opened on a GPU before the process was forked: open it in the child");
  }
  Batch answers;
  computing_.run(settings_.threads, [&] { answers = opened_.task->answers(predictor_->run(batch)); });
  return answers;
}

}  // namespace ptrain::api
