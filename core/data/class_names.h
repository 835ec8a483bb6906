// Names of classes that come from names of folders and labels in files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// The name in Unicode's composed form (NFC), in which names are compared: macOS decomposes those of files.
std::string compose_class_name(const std::string& name);

/// Sorts names by value where all are whole numbers, else by their bytes.
void sort_class_names(std::vector<std::string>& names);

/// The first few groups of more than one name: "a" and "A"; "b" and "B". Empty where there are none.
std::string describe_groups(const std::map<std::string, std::set<std::string>>& groups);

/// A note on names of classes that are easily confused; empty where there are none.
std::string describe_alike(const std::vector<std::string>& names, const std::string& place);

}  // namespace ptrain
