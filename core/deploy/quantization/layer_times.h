// Times layers in 8 bits and in float, and selects the layers to leave in float so that the whole model is fastest.
#pragma once

#include "core/exec/backend.h"
#include "core/graph/graph.h"
#include "core/passes/amp.h"
#include "core/passes/quantize_layers.h"

namespace ptrain {

/// Seconds of one layer in float and in 8 bits. Quantizing a value counts for the first layer that reads it.
struct LayerSeconds {
  double real = 0, int8 = 0;
};

/// Times the nodes of a graph for any selection of 8-bit layers; each problem is timed once, alone, on synthetic
/// values. The arguments must outlive it.
class LayerTimes {
 public:
  /// `graph` is in fp32, `real` gives the precision of layers left in float, `scheme` has the formats.
  LayerTimes(Backend& backend, const Graph& graph, const QuantizationScheme& scheme, const AmpOptions& real);

  /// By layer name, with all layers of the scheme in 8 bits; both forms of a layer are timed interleaved.
  std::map<std::string, LayerSeconds> by_layer();

  /// Total of the nodes that depend on the selection: layers, poolings between them, quantize and dequantize.
  double of_model(const std::set<std::string>& int8_layers);

 private:
  struct Problem;
  Problem make_problem(const Graph& graph, const Node& node) const;
  double seconds(const Problem& problem);

  Backend& backend_;
  const Graph& graph_;
  QuantizationScheme scheme_;
  DType real_;
  std::map<std::string, const Node*> layers_;  // of the scheme, by name
  std::map<std::string, double> known_;        // seconds by problem
};

/// Moves one of `layers` at a time into or out of `int8` as long as that makes the model faster by `of_model`.
std::set<std::string> find_fastest_layers(const std::set<std::string>& layers, std::set<std::string> int8,
                                          const std::function<double(const std::set<std::string>&)>& of_model);

}  // namespace ptrain
