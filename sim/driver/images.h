// SPDX-License-Identifier: Apache-2.0
// The images that pods of plans have.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sim {

// What they are for at the start of a run; an empty set: the registry does not have it.
const std::map<std::string, std::set<std::string>>& Images();
std::vector<std::string> ImageNames();
// Of a registry that needs the credentials in the Secret kPullSecret of its namespace.
inline constexpr char kPrivateImage[] = "p.io/private:1";
inline constexpr char kPrivateHost[] = "p.io";
inline constexpr char kPullSecret[] = "regcred";
const std::vector<std::string>& RegistryHosts();

}  // namespace sim
