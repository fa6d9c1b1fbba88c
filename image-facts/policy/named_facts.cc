// SPDX-License-Identifier: Apache-2.0
#include "image-facts/policy/named_facts.h"

namespace image_facts {

kube::Result<NamedFacts> NamedFacts::FromJson(kube::Json object) {
  NamedFacts named;
  named.metadata_ = kube::MetadataFromJson(object);
  named.configuration_ = ConfigurationOf(object);
  ForEachFact(object, [&](const FactLine& line, const placement::SharedPlatforms& platforms) {
    named.facts_.push_back({std::string(line.image), platforms, line.read});
  });
  named.facts_.shrink_to_fit();
  return named;
}

}  // namespace image_facts
