// SPDX-License-Identifier: Apache-2.0
// What leaves a cluster, and what comes in: the facts that registries tell everybody. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "image-facts/image_facts.h"
#include "kube/base/error.h"

namespace image_facts {

// The text of an export: JSON, the same for the same facts. Facts that serve only some pods, or
// this cluster, are left out.
std::string ToExport(const std::vector<ImageFacts>& objects);
// The facts of an untrusted text. Errors: kInvalid.
kube::Result<std::vector<ImageFact>> FromExport(std::string_view text);

struct Merged {
  // Those that are to be written.
  std::vector<ImageFacts> objects;
  size_t added = 0;     // facts that are new, or newer
  size_t known = 0;     // that are known, and count as long or half a lifetime less
  size_t left_out = 0;  // for which there is no room
};
// Adds `facts` to the `stored` objects of the cluster controller, of its newest configuration, as
// far as there is room. Errors: kNotFound if there is no object.
kube::Result<Merged> Merge(std::vector<ImageFacts> stored, const std::vector<ImageFact>& facts);

}  // namespace image_facts
