// Shared by models that read the line of text in an image by connectionist temporal classification.
#pragma once

#include "core/config/image_size.h"
#include "core/model/model.h"

#include <string>

namespace ptrain {

/// Declares the characters [rows, max_length] of the texts, which the loss reads; a deployed graph has none.
void declare_characters(Graph& graph, Mode mode, std::int64_t rows, std::int64_t max_length);

/// Throws Error{usage} where a text of `max_length` characters has more of them than `steps`, those that the model
/// `name` makes of an image of `size`.
void require_steps(const std::string& name, ImageSize size, std::int64_t steps, std::int64_t max_length);

}  // namespace ptrain
