// SPDX-License-Identifier: Apache-2.0
// Query: the parameters of a question, from an untrusted URL. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace console {

class Query {
 public:
  Query() = default;
  // "namespace=shop&name=web-0". Errors: kInvalid for bad percent-encoding.
  static kube::Result<Query> Parse(std::string_view text);

  // "" without it.
  std::string Get(const std::string& name) const;
  // The namespace to ask about; "" for all. Errors: kInvalid for what is no name of an object.
  kube::Result<std::string> Namespace() const { return ObjectName("namespace"); }
  // "" without it. Errors: as above.
  kube::Result<std::string> ObjectName(const std::string& name) const;
  // The same, and kInvalid without it.
  kube::Result<std::string> RequiredName(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace console
