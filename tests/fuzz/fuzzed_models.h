// Trained models that targets ask: of random weights, made when a target starts.
#pragma once

#include "core/model/model.h"
#include "core/runtime/loaded_model.h"

namespace ptrain::fuzzing {

/// A folder of a MobileNetV1 that reads 8 px and knows 3 classes.
void make_images_model(const std::filesystem::path& folder);

/// A folder of a BERT, one layer of 8, that reads 12 tokens of a vocabulary of 16 and knows 2 classes.
void make_texts_model(const std::filesystem::path& folder);

/// The texts' model with every layer in 8 bits.
void make_int8_model(const std::filesystem::path& texts, const std::filesystem::path& folder);

}  // namespace ptrain::fuzzing
