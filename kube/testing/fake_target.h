// SPDX-License-Identifier: Apache-2.0
// FakeTarget: the parsed target of a request to a FakeStore.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/testing/fake_object.h"
#include "kube/types/resource.h"

namespace kube {

struct FakeTarget {
  std::string collection;  // "/api/v1/pods", whatever the namespace
  ObjectKey key;  // without name: the collection; without ns: all namespaces, or cluster-scoped
  std::string subresource;
  std::map<std::string, std::string> query;

  static Result<FakeTarget> Parse(std::string_view target);
  std::string Query(const std::string& name) const;
  // True if a list or watch of this target includes the object; kInvalid for an unknown field.
  Result<bool> Matches(const ObjectKey& object_key, const FakeObject& object) const;
};

}  // namespace kube
