#include "core/train/feeder.h"

#include "core/ops/softmax_cross_entropy.h"
#include "models/model.h"

namespace ptrain {
namespace {

template <typename T>
void write(Plan& plan, const char* input, const std::vector<T>& values) {
  if (!values.empty()) plan.write_input(input, values.data(), values.size() * sizeof(T));
}

}  // namespace

void feed(Plan& plan, const Batch& batch, std::int64_t valid) {
  write(plan, model_io::images, batch.pixels);
  write(plan, model_io::ids, batch.ids);
  write(plan, model_io::token_types, batch.token_types);
  write(plan, model_io::lengths, batch.lengths);
  if (valid == static_cast<std::int64_t>(batch.labels.size())) {
    write(plan, model_io::labels, batch.labels);
    return;
  }
  std::vector<std::int32_t> labels = batch.labels;
  std::fill(labels.begin() + valid, labels.end(), ignored_label);
  write(plan, model_io::labels, labels);
}

}  // namespace ptrain
