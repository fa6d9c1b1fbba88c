// SPDX-License-Identifier: Apache-2.0
#include "image-facts/policy/named_facts.h"

#include "image-facts/fact_scope.h"

namespace image_facts {

kube::Result<NamedFacts> NamedFacts::FromJson(kube::Json object) {
  NamedFacts named;
  named.metadata_ = kube::MetadataFromJson(object);
  named.configuration_ = ConfigurationOf(object);
  ForEachFact(object, [&](const StoredFact& fact) {
    if (!IsOfSomePods(fact.scope))
      named.facts_.push_back(
          {std::string(fact.line.image), fact.platforms, fact.line.read, std::string(fact.scope)});
  });
  named.facts_.shrink_to_fit();
  return named;
}

}  // namespace image_facts
