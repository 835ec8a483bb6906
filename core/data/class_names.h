// Names of classes that come from names of folders and labels in files.
#pragma once

#include <string>
#include <vector>

namespace ptrain {

/// The name in Unicode's composed form (NFC), in which names are compared: macOS decomposes those of files.
std::string compose_class_name(const std::string& name);

/// Sorts names by value where all are whole numbers, else by their bytes.
void sort_class_names(std::vector<std::string>& names);

}  // namespace ptrain
