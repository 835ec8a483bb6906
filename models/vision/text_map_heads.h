// The heads of DB (Liao et al. 2020), which networks that find text have behind features of any kind.
#pragma once

#include "core/data/boxes/text_boxes.h"
#include "models/vision/vision_blocks.h"

#include <string>

namespace ptrain {

/// Names of the two heads, and of their norms less a number.
struct TextMapNames {
  std::string probability, threshold, norm;
};

/// `Base` is VisionBlocks or derived from it.
template <typename Base>
class TextMapHeads : public Base {
 protected:
  using Base::Base;

  /// Logits [N,4H,4W,1] of text in features [N,H,W,C]. In training outputs threshold_logits, of the same shape.
  ValueId text_maps(const TextMapNames& names, ValueId features) {
    const ValueId logits = text_map(names.probability, names.norm, features);
    const auto thresholds = [&] { return text_map(names.threshold, names.norm, features); };
    if (this->training()) {
      this->graph_.set_output(tensor_names::threshold_logits, thresholds());
    } else {
      this->declare_variables(thresholds);
    }
    return logits;
  }

 private:
  ValueId text_map(const std::string& name, const std::string& norm, ValueId x) {
    const std::string first = fmt::format("{}.{}1", name, norm), second = fmt::format("{}.{}2", name, norm);
    const std::int64_t inner = this->channels(x) / 4;
    x = this->conv_norm_relu(name + ".conv1", first, x, {inner, 3});
    x = this->batch_norm(second, this->transposed_convolution(name + ".conv2", x, inner), NormStart::one);
    return this->transposed_convolution(name + ".conv3", this->relu(second + ".relu", x), 1);
  }
};

}  // namespace ptrain
