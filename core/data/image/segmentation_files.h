// Lists images and their label maps in the layouts of segmentation data sets.
#pragma once

#include "core/data/factory.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

struct LabelledImage {
  std::filesystem::path image, labels;
};

/// The samples of one split, by name.
struct SegmentationFiles {
  std::vector<LabelledImage> samples;
  std::vector<std::string> class_names;
  std::filesystem::path place;  // for messages
};

/// All three throw Error naming a folder or list that is missing or empty, and an image without a label map.
/// Images in one folder and PNGs of the same names in another: train/ and trainannot/ (or train_labels/, train_masks/),
/// or images/train/ and labels/train/ (or masks/, annotations/); val likewise, or a share of the training images by
/// settings.dev_fraction. Classes are settings.labels, or else numbers below settings.classes.
SegmentationFiles list_mask_folder(const DataSettings& settings, Split split);
/// PASCAL VOC: JPEGImages/, SegmentationClass/ and ImageSets/Segmentation/{train,val}.txt.
SegmentationFiles list_voc(const DataSettings& settings, Split split);
/// Cityscapes: leftImg8bit/SPLIT/CITY/*_leftImg8bit.png and gtFine/SPLIT/CITY/*_gtFine_labelTrainIds.png.
SegmentationFiles list_cityscapes(const DataSettings& settings, Split split);

}  // namespace ptrain
