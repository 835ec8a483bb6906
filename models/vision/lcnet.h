// PPLCNetV4, the backbone of PP-OCRv6's networks (PaddleOCR). A block mixes the pixels of each channel by a depthwise
// convolution, then the channels of each pixel by two linear layers. Variables have the names that PaddleOCR gives
// them. A depthwise convolution that PaddleOCR trains as three parallel ones is one here, as in its published files.
#pragma once

#include "models/vision/vision_blocks.h"

#include <string>
#include <vector>

namespace ptrain {

/// What a block does to the size of an image.
enum class LcnetStride { none, rows, both };  // keeps it, halves the height, halves height and width

/// A block's outputs are a multiple of the first blocks' channels.
struct LcnetBlock {
  int widening;
  LcnetStride stride = LcnetStride::none;
  bool excites = false;
};
struct LcnetStage {
  const char* name;
  std::vector<LcnetBlock> blocks;
};

class LcnetBlocks : public VisionBlocks {
 protected:
  /// `spec` must outlive this. `channels` are the first blocks'.
  LcnetBlocks(const ImageSpec& spec, Mode mode, std::int64_t channels)
      : VisionBlocks(spec, mode), lcnet_channels_(channels) {}

  /// Halves height and width twice.
  ValueId lcnet_stem(const std::string& name, ValueId x);
  ValueId lcnet_stage(const LcnetStage& stage, ValueId x);

 private:
  ValueId conv_bn_relu(const std::string& name, ValueId x, const ConvSpec& spec);
  ValueId cut_first(const std::string& name, ValueId x);
  ValueId block(const std::string& name, ValueId x, const LcnetBlock& form);
  ValueId mix_pixels(const std::string& name, ValueId x, LcnetStride stride);
  ValueId take_even_rows(const std::string& name, ValueId x);

  std::int64_t lcnet_channels_;
};

}  // namespace ptrain
