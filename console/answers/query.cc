// SPDX-License-Identifier: Apache-2.0
#include "console/answers/query.h"

#include <algorithm>
#include <utility>

#include "api/label_selector.h"
#include "kube/base/percent.h"

namespace console {

using kube::Error;
using kube::Result;

namespace {

// A browser writes spaces as "+" in a query.
Result<std::string> Decode(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return kube::PercentDecode(spaced);
}

}  // namespace

Result<Query> Query::Parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    Result<std::string> name = Decode(pair.substr(0, equals));
    Result<std::string> value = Decode(pair.substr(std::min(pair.size(), equals + 1)));
    if (!name || !value) return Error::Invalid("the query is not percent-encoded");
    query.values_[std::move(*name)] = std::move(*value);
  }
  return query;
}

std::string Query::Get(const std::string& name) const {
  auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

Result<std::string> Query::ObjectName(const std::string& name) const {
  std::string value = Get(name);
  if (!value.empty() && !api::IsDnsSubdomain(value))
    return Error::Invalid("the parameter " + name + " is no name of an object");
  return value;
}

Result<std::string> Query::RequiredName(const std::string& name) const {
  Result<std::string> value = ObjectName(name);
  if (value && value->empty()) return Error::Invalid("the parameter " + name + " is missing");
  return value;
}

}  // namespace console
