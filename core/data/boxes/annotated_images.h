// Images with boxes around objects, and masks of them, as their files describe them.
#pragma once

#include "core/data/boxes/rle.h"
#include "core/data/dataset.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

struct AnnotatedObject {
  std::int32_t label = 0;
  std::array<double, 4> box{};  // x and y of the upper left corner, width and height, in px of the stored image
  double area = 0;              // px, of the object rather than of its box
  bool crowd = false;           // many objects, or one that is difficult to see: neither learnt nor required
  std::string mask = {};        // run lengths of its pixels as text (rle.h); empty: not known
  std::int64_t first_run = 0, runs = 0;  // of its mask in the tensor object_masks of a batch
};

struct AnnotatedImage {
  std::string file;  // its path
  int width = 0, height = 0;
  std::vector<AnnotatedObject> objects;
  std::int64_t id = 0;  // in its annotation file; without one, its number in the list of images, from 1
};

struct AnnotatedImages {
  std::vector<std::string> class_names;
  std::vector<std::int64_t> category_ids;  // of the classes, in their annotation file; empty: they are the numbers
  std::vector<AnnotatedImage> images;
  std::vector<std::string> notes;
};

/// Whether `targets` include the masks of objects.
bool wants_masks(const std::vector<std::string>& targets);

/// An object as a row of the tensor `annotations`: doubles are stored by their bits, so that evaluations use them
/// exactly as files have them.
inline constexpr std::int64_t annotation_columns = 9;
/// Writes objects to the rows of one sample, of which there may be more.
void write_objects(std::span<const AnnotatedObject> objects, std::span<std::int64_t> rows);
/// Reads the rows of one sample that have an object.
std::vector<AnnotatedObject> read_objects(std::span<const std::int64_t> rows);

/// The tensor of a sample with at most `most` objects.
TensorSpec annotation_tensor(std::size_t most);

/// The tensor of a sample with at most `most` runs of all its masks: where each ends, in pixels down the columns of the
/// stored image.
TensorSpec mask_tensor(std::size_t most);
/// The runs of the masks of all objects.
std::size_t count_runs(std::span<const AnnotatedObject> objects);
/// Writes the masks of objects to the row of one sample, in which there may be more, and where they are to the objects.
void write_masks(std::span<AnnotatedObject> objects, std::span<std::int32_t> row);
/// Reads the mask of an object of an image of `size` from the row of its sample.
RunLengths read_mask(const AnnotatedObject& object, std::span<const std::int32_t> row, ImageSize size);

/// Whether an object can be learnt: it is no crowd, and part of its box lies in an image of this size.
bool is_learnable(const AnnotatedObject& object, int width, int height);

}  // namespace ptrain
