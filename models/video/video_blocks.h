// Shared by models of videos as features of their frames.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/blocks.h"

#include <array>
#include <string>
#include <vector>

namespace ptrain {

struct VideoSpec {
  std::int64_t classes = 3862;
  std::int64_t max_frames = 300;
  float dropout = 0.5f;
};

/// The names of model.size.
inline constexpr std::array video_size_names{"tiny", "base"};
/// Whether the configuration has the size tiny, rather than base. Throws Error{usage} naming both for another.
bool is_tiny(const Config& config);
/// What a configuration and data say of every model.
VideoSpec video_spec(const Config& config, const DatasetInfo& data);

class VideoBlocks : public Blocks {
 public:
  VideoBlocks(const VideoSpec& spec, Mode mode) : Blocks(mode, spec.dropout), max_frames_(spec.max_frames) {}

 protected:
  /// Adds the features [N,F,C] of pictures and sounds, and the mask [N,F] of their frames, as inputs.
  void add_inputs(std::int64_t rows);

  /// A linear layer without bias; its weights start by He et al. 2015.
  ValueId project(const std::string& name, ValueId x, std::int64_t outputs);
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);
  /// x with a number for frames that are padding that no softmax or gate lets through; `shape` is that of the mask,
  /// broadcast to x.
  ValueId exclude_padding(const std::string& name, ValueId x, Shape shape);
  /// He et al. 2015.
  static Initializer start(std::int64_t inputs);

  const std::int64_t max_frames_;
  std::int64_t rows_ = 0;
  ValueId rgb_ = no_value, audio_ = no_value, mask_ = no_value;
};

}  // namespace ptrain
