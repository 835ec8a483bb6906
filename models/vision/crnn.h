// CRNN (Shi et al. 2015, "An end-to-end trainable neural network for image-based sequence recognition"): convolutions
// that make a sequence of an image's columns, two bidirectional LSTMs over it, and scores of characters at each step.
// Variables have the names of torch's modules: cnn.conv0 to cnn.conv6, cnn.batchnorm4 and cnn.batchnorm5, rnn (an LSTM
// of two layers), fc.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

struct CrnnSpec : ImageSpec {
  std::string name = "crnn";
  std::int64_t channels = 64;   // of the first convolution; the last ones have eight times as many
  std::int64_t units = 256;     // of an LSTM's direction
  std::int64_t max_length = 1;  // characters of the data's longest text
};

/// The published form, for images in colour.
CrnnSpec crnn_spec(const Config& config, const DatasetInfo& data);
/// A small one that learns in a minute, for tests.
CrnnSpec crnn_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs logits [N, T, classes] for T steps from left to right, a quarter of the image's width less one. Rows of
/// features that images of more than 32 px have beside the first are averaged with it. Throws Error{usage} for images
/// of a height that is no multiple of 16 px from 32 on, and where the longest text has more characters than there are
/// steps.
std::unique_ptr<Model> make_crnn(const CrnnSpec& spec);

}  // namespace ptrain
