// Loads and saves weights under torchvision's or transformers' names.
#pragma once

#include "core/exec/variables.h"
#include "core/io/named_tensor.h"
#include "core/io/safetensors.h"
#include "core/model/model.h"
#include "core/passes/block_weights.h"

#include <filesystem>

namespace ptrain {

/// Initialises every parameter and state as the model declares; optimizer state stays zero.
void initialize_variables(const Model& model, Variables& variables, std::uint64_t seed);

struct LoadedWeights {
  std::vector<std::string> fresh;   // of the head, missing; of the classifier, also in another shape: initialised
  std::vector<std::string> unused;  // the file's other parameters
  bool lacks_adapters = false;      // the model's adapters are initialised
  std::string prefix;               // that the file's names have before the model's: "module."
  std::string variant;              // Model::variant of the model that was saved, if the file says one
};

/// What to do with parameters of the network's body that the model has no place for, such as those of further layers.
enum class LeftOver { refused, allowed };

/// Reads weights (core/io/weights_file.h) into the variables; a tensor may have any of the names that the model lists
/// for it, after a prefix that wrappers add. Throws Error{failed} naming file and tensor when one is missing, has
/// another shape or a value that is not finite, or is left over. What the file lacks is initialised from `seed`.
LoadedWeights load_weights(const std::filesystem::path& path, const Model& model, Variables& variables,
                           LeftOver left_over = LeftOver::refused, std::uint64_t seed = 0);

/// Reads a tensor of the file `path` into its variable, with the first row of `more`, if there is one, added to each.
/// Throws Error{failed} if a value is not finite.
void read_tensor(const NamedTensor& tensor, const std::filesystem::path& path, const WeightMapping& mapping,
                 Variables& variables, const NamedTensor* more = nullptr);

/// The formats of the variables that a GGUF file has in blocks, which layers read as they are. A variable of several
/// tensors in different formats is rounded to q8_0.
BlockFormats find_block_formats(const std::filesystem::path& path, const Model& model);

/// That format for every parameter but adapters.
BlockFormats choose_block_format(BlockFormat format);

/// "a, b, c, d and 3 more".
std::string name_some(const std::vector<std::string>& names);

/// The metadata of weights that this program writes, which tell them from others.
inline const SafetensorsMetadata own_metadata{{"format", "pt"}, {"producer", "ptrain"}};

/// Writes the model's parameters and running statistics as fp32 safetensors, with the model's variant in the metadata.
/// `steps`: BatchNorm's num_batches_tracked.
void save_weights(const std::filesystem::path& path, const Model& model, const Variables& variables,
                  std::int64_t steps);

/// The low-precision copies to refresh: all, or those that no optimizer update writes (an O2 evaluation of a run that
/// trains at another level).
enum class LowPrecisionCopies { all, untrained };

/// Copies every fp32 master to its low-precision copy (O2), after masters were written.
void refresh_low_precision(Variables& variables, LowPrecisionCopies which);

/// The variables that have a moving average, apart from the parameters, each with its average's name.
std::vector<std::pair<std::string, std::string>> find_averages(const Variables& variables);

/// While one exists, the parameters and running statistics are replaced by their moving averages, if there are any.
class AveragedWeights {
 public:
  explicit AveragedWeights(Variables& variables) : variables_(variables) { exchange(); }
  ~AveragedWeights() { exchange(); }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  void exchange();

  Variables& variables_;
};

/// Converts a variable to the tensor in the file's layout, and back. Shapes are the mapping's.
std::vector<float> to_external(const WeightMapping& mapping, const Shape& shape, std::span<const float> values);
void from_external(const WeightMapping& mapping, const Shape& shape, std::span<const float> external,
                   std::span<float> values);

}  // namespace ptrain
