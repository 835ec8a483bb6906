// The interface of every reference model: its graph for any batch size, and each variable's initialisation and name in
// weights files.
#pragma once

#include "core/base/data_kind.h"
#include "core/base/initializer.h"
#include "core/graph/graph.h"
#include "core/model/bucket.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// A deployed model only predicts; inputs of its loss may be missing or have another form. With a cache of keys and
/// values a language model reads whole texts in prefill, and in decoding the tokens after those that it has read.
enum class Mode { training, evaluation, deployment, prefill, decoding };
inline bool has_cache(Mode mode) { return mode == Mode::prefill || mode == Mode::decoding; }
inline bool is_deployed(Mode mode) { return mode == Mode::deployment || has_cache(mode); }

/// How a variable here, or some of its rows, corresponds to a tensor in a weights file.
struct WeightMapping {
  enum class Layout {
    rows,        // there [rows, ...]: rows `row_begin`.. of the variable here
    conv_krsc,   // here [K,R,S,C'], there [K,C,R,S]; channels from C to C' are zero here
    image_row,   // here [K,P C], of a layer that reads an image of P pixels as one row; there [K,C P]
    transposed,  // here [K,C], there [C,K]
  };
  std::string variable;
  std::string external;  // torchvision's or transformers' name
  Shape external_shape;
  Layout layout = Layout::rows;
  std::int64_t row_begin = 0;
  std::int64_t pixels = 1;  // P of image_row
  /// Images that a convolution's input stacks. Filters of one image in a file, of C / images channels, are averaged
  /// over its channels, divided by `images` and repeated for every channel (stNet).
  std::int64_t stacked_images = 1;
  /// When fine-tuning, weights may lack the head, or have a classifier for another number of classes. A published
  /// model has no adapters, or has them in a file of their own.
  enum class Part { body, head, classifier, adapter } part = Part::body;
  std::vector<std::string> other_names = {};  // alternative names in files, most likely first
  std::string step_counter = {};              // i64 [] after it in a file, which counts steps; empty: none
  std::string added_row = {};  // a tensor whose first row is added to each row, where a file has it; empty: none
};

/// A parameter or state of a model, with everything that its declaration specifies.
struct ModelVariable {
  std::string name;
  Shape shape;
  Initializer initializer;
  std::vector<WeightMapping> files;  // in the order in which files hold them
  bool is_dynamic = false;           // of `shape`, only the rows that the row index has are in use (base/row_index.h)
};

/// A forward graph with the model's outputs by name, and its variables in declaration order. The task adds the loss
/// (core/tasks).
struct BuiltModel {
  Graph graph;
  std::vector<ModelVariable> variables;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string name() const = 0;
  /// One line that distinguishes models with incompatible checkpoints.
  virtual std::string signature() const = 0;
  /// Throws Error{usage} when the input size does not fit.
  virtual BuiltModel construct(const Bucket& batch, Mode mode) const = 0;
  /// The extents of the graph that runs a batch of these extents: graphs are static, and a few of them serve all
  /// batches. It has as many rows as the batch. For packed text the tokens are a capacity T; otherwise, as here, one
  /// graph serves any number of tokens, and of objects that only its task reads.
  virtual Bucket bucket_for(const Bucket& batch, Mode) const {
    return {batch.rows, {{extent_names::height, batch.height()}, {extent_names::width, batch.width()}}};
  }
  /// Metadata for other tools, stored with the weights as config.json; empty: none.
  virtual std::string config_json() const { return {}; }
  /// How it differs from the published network of its name, though weights fit both: "small stem ..."; empty: not at
  /// all.
  virtual std::string variant() const { return {}; }
  virtual DataKind reads() const = 0;
  /// Whether it reads sequences of tokens: sentences, blocks of running text, or texts with translations.
  bool is_text() const {
    return reads() == DataKind::text || reads() == DataKind::tokens || reads() == DataKind::parallel;
  }
  /// The noun for a sample in reports and units: image, clip, sequence or sample (of a table).
  virtual std::string sample() const { return sample_name(reads()); }

  Graph build(const Bucket& batch, Mode mode) const { return construct(batch, mode).graph; }
  /// Every parameter and state; they are the same for all batches and modes.
  std::vector<ModelVariable> variables() const { return construct(1, Mode::evaluation).variables; }
  /// The tensors of a weights file, in its order.
  std::vector<WeightMapping> weights() const;
};

/// Fills `values` by `initializer`, with Philox keyed by `seed` and the variable's name.
void initialize(const Initializer& initializer, const Shape& shape, std::string_view name, std::uint64_t seed,
                std::span<float> values);

/// True for the names of batch norms' running means and variances.
bool is_running_statistic(std::string_view name);
bool is_running_variance(std::string_view name);

/// True for matrices and convolution filters: standard recipes apply weight decay to them (not to biases and norms).
bool is_weight_matrix(const Shape& shape);

}  // namespace ptrain
