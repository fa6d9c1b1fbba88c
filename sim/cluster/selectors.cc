// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/selectors.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>

#include "kube/types/list_at.h"

namespace sim {
namespace {

using kube::Json;

bool Holds(const Json& expression, const Json& labels) {
  const std::string key = expression.at("key");
  const std::string op = expression.at("operator");
  const bool has = labels.contains(key);
  if (op == "Exists") return has;
  if (op == "DoesNotExist") return !has;
  CHECK(op == "In" || op == "NotIn") << "operator of a label selector: " << op;
  const Json& values = kube::ListAt(expression, "values");
  const bool in = has && std::find(values.begin(), values.end(), labels[key]) != values.end();
  return op == "In" ? in : !in;
}

}  // namespace

bool Selects(const Json& selector, const Json& labels) {
  for (const auto& [key, value] : kube::ObjectAt(selector, "matchLabels").items()) {
    if (!labels.contains(key) || labels[key] != value) return false;
  }
  for (const Json& expression : kube::ListAt(selector, "matchExpressions")) {
    if (!Holds(expression, labels)) return false;
  }
  return true;
}

const Json& LabelsOf(const Json& object) { return kube::ObjectAt(object, "metadata.labels"); }

}  // namespace sim
