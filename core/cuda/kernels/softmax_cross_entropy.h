// Softmax cross entropy and its gradient for ranges of a batch's rows.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"
#include "core/cuda/device/workspace.h"
#include "core/ops/math/mixed_label.h"

namespace ptrain::cuda {

struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// Enqueues the loss of rows of logits [rows,classes] and their gradient; labels are those of all rows. The parts share
/// a workspace, which holds the losses of all rows.
class SoftmaxLossRows {
 public:
  SoftmaxLossRows(const Device& device, std::int64_t rows, std::int64_t classes, float smoothing);

  std::size_t workspace_bytes() const { return layout_.bytes(); }
  /// The losses of a range of rows, from its logits [count,classes]; their probabilities may overwrite them.
  void add(const RowRange& range, DType dtype, const void* logits, const MixedLabels& labels, float* probabilities,
           void* workspace) const;
  /// The mean loss, when all rows are added.
  void finish(const MixedLabels& labels, float* loss, void* workspace) const;
  /// Prepares differentiate().
  void start_gradient(const MixedLabels& labels, const float* dloss, void* workspace) const;
  /// The gradient of a range's logits in `dtype`; if it is f32, it may overwrite the probabilities.
  void differentiate(const RowRange& range, const float* probabilities, const MixedLabels& labels, DType dtype,
                     void* dlogits, void* workspace) const;

 private:
  const Device& device_;
  std::int64_t rows_, classes_;
  float smoothing_;
  int parts_;
  WorkspaceLayout layout_;
  WorkspacePart partial_, losses_, factors_;
};

}  // namespace ptrain::cuda
