// Merges convolutions of one input whose results are added, at inference, into one (Ding et al. 2021, "RepVGG"): the
// sum of two convolutions is the convolution with the sum of their filters, the smaller ones at the centre of the
// larger.
#pragma once

#include "core/graph/graph.h"

#include <array>
#include <string>
#include <vector>

namespace ptrain {

/// The parameters that make up one convolution's filters and bias.
struct MergedConvolution {
  struct Part {
    std::string filters;
    Shape shape;        // of the filters, [K,R,S,C]
    std::string bias;   // [K]; empty where it has none
    std::string scale;  // of one element, multiplies the part's result; empty: 1
  };
  std::array<Part, 2> parts;  // the one with the larger filters first
  std::string filters, bias;  // parameters of the merged graph, shaped as the first part's
};

struct MergedGraph {
  Graph graph;
  std::vector<MergedConvolution> convolutions;
};

/// Makes
/// add(conv2d(x) [* scale], conv2d(x) [* scale])
/// one conv2d with a bias, under the name of the larger one, where nothing else reads the values in between, both have
/// the same stride and groups and no dilation, and their windows have the same centres.
MergedGraph merge_convolutions(const Graph& graph);

/// The values of a part.
struct ConvolutionValues {
  std::span<const float> filters, bias;  // the bias may be empty
  float scale = 1;
};

/// Adds a part with filters of shape `part` to the filters of shape `whole` and the bias of the convolution that it is
/// merged into.
void add_convolution(const ConvolutionValues& values, const Shape& part, const Shape& whole, std::span<float> filters,
                     std::span<float> bias);

}  // namespace ptrain
