// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/testing/specs.h"

namespace policy {

std::string AffinitySpec(const std::string& kind, const std::string& terms) {
  return R"({"affinity": {")" + kind + R"(": {"requiredDuringSchedulingIgnoredDuringExecution": )" +
         terms + "}}}";
}
std::string RequiredSpec(const std::string& terms) {
  return AffinitySpec("nodeAffinity", R"({"nodeSelectorTerms": )" + terms + "}");
}
std::string ExpressionSpec(const std::string& expression) {
  return RequiredSpec(R"([{"matchExpressions": [)" + expression + "]}]");
}
std::string FieldSpec(const std::string& field) {
  return RequiredSpec(R"([{"matchFields": [)" + field + "]}]");
}
std::string PodTermSpec(const std::string& term) {
  return AffinitySpec("podAntiAffinity", "[" + term + "]");
}
std::string TolerationSpec(const std::string& toleration) {
  return R"({"tolerations": [)" + toleration + "]}";
}

std::vector<WrongSpec> WrongSpecs() {
  return {
      {R"("text")", "spec", "must be an object", false},
      {R"({"podSelector": []})", "spec.podSelector", "must be an object", false},
      {R"({"podSelector": {"matchLabels": {"a b": "c"}}})", "spec.podSelector.matchLabels",
       "not a valid label key", false, false},
      {R"({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})",
       "spec.namespaceSelector.matchExpressions[0].values", "must not be empty", false},
      {R"({"nodeSelector": {"a": 1}})", "spec.nodeSelector.a", "must be a string"},
      {R"({"nodeSelector": {"a": "b c"}})", "spec.nodeSelector.a", "not a valid label value"},
      {R"({"nodeSelector": {"-": "b"}})", "spec.nodeSelector", "not a valid label key", true,
       false},
      {R"({"nodeName": "Node"})", "spec.nodeName", "not a valid name of a node"},
      {R"({"nodeName": "a..b"})", "spec.nodeName", "not a valid name of a node"},
      {R"({"schedulerName": 7})", "spec.schedulerName", "must be a string"},
      {R"({"affinity": []})", "spec.affinity", "must be an object"},
      {AffinitySpec("nodeAffinity", "{}"),
       "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
       "nodeSelectorTerms",
       "is required"},
      {RequiredSpec("[]"), "nodeSelectorTerms", "at least one term"},
      {RequiredSpec("[{}, {\"matchFields\": []}]"), "nodeSelectorTerms",
       "empty terms match no node", false},
      {RequiredSpec("[7]"), "nodeSelectorTerms[0]", "must be an object"},
      {ExpressionSpec(R"({"operator": "Exists"})"), "matchExpressions[0].key",
       "not a valid label key"},
      {ExpressionSpec(R"({"key": "a"})"), "operator", "is required"},
      {ExpressionSpec(R"({"key": "a", "operator": "Near"})"), "operator", "must be one of In"},
      {ExpressionSpec(R"({"key": "a", "operator": "NotIn"})"), "values", "must not be empty"},
      {ExpressionSpec(R"({"key": "a", "operator": "Exists", "values": ["b"]})"), "values",
       "must be empty"},
      {ExpressionSpec(R"({"key": "a", "operator": "Gt", "values": ["1", "2"]})"), "values",
       "must have one value"},
      {ExpressionSpec(R"({"key": "a", "operator": "In", "values": ["b c"]})"), "values",
       "not a valid label value"},
      {ExpressionSpec(R"({"key": "a", "operator": "In", "values": [1]})"), "values[0]",
       "must be a string"},
      {FieldSpec(R"({"key": "metadata.uid", "operator": "In", "values": ["a"]})"), "key",
       "metadata.name"},
      {FieldSpec(R"({"key": "metadata.name", "operator": "Exists"})"), "operator", "In, NotIn"},
      {FieldSpec(R"({"key": "metadata.name", "operator": "In", "values": ["a", "b"]})"), "values",
       "must have one value"},
      {FieldSpec(R"({"key": "metadata.name", "operator": "In", "values": ["A"]})"), "values",
       "not a valid name of a node"},
      {R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
           [{"weight": 0, "preference": {}}]}}})",
       "[0].weight", "from 1 to 100"},
      {R"({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
           [{"weight": 101, "podAffinityTerm": {"topologyKey": "a"}}]}}})",
       "[0].weight", "from 1 to 100"},
      {R"({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
           [{"weight": 1}]}}})",
       "podAffinityTerm", "is required"},
      {PodTermSpec("{}"), "topologyKey", "not a valid label key"},
      {PodTermSpec(R"({"topologyKey": "a", "namespaces": ["a.b"]})"), "namespaces",
       "not a valid name of a namespace"},
      {PodTermSpec(R"({"topologyKey": "a", "namespaceSelector":
           {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}})"),
       "namespaceSelector.matchExpressions[0].values", "must be empty"},
      {PodTermSpec(R"({"topologyKey": "a", "labelSelector": {"matchLabels": {"k": "v"}},
           "matchLabelKeys": ["k"]})"),
       "matchLabelKeys", "in labelSelector as well"},
      {PodTermSpec(R"({"topologyKey": "a", "matchLabelKeys": ["k"]})"), "matchLabelKeys",
       "needs a labelSelector"},
      {PodTermSpec(R"({"topologyKey": "a", "mismatchLabelKeys": ["k"]})"), "mismatchLabelKeys",
       "needs a labelSelector"},
      {PodTermSpec(R"({"topologyKey": "a", "labelSelector": {}, "matchLabelKeys": ["k"],
           "mismatchLabelKeys": ["k"]})"),
       "matchLabelKeys", "in mismatchLabelKeys as well"},
      {TolerationSpec("{}"), "tolerations[0].operator", "must be Exists without a key"},
      {TolerationSpec(R"({"key": "k", "operator": "Lt", "value": "1"})"), "operator",
       "must be one of Equal, Exists"},
      {TolerationSpec(R"({"key": "k", "operator": "Exists", "value": "v"})"), "value",
       "must be empty"},
      {TolerationSpec(R"({"key": "k", "value": "v w"})"), "value", "not a valid label value"},
      {TolerationSpec(R"({"key": "k w"})"), "key", "not a valid label key"},
      {TolerationSpec(R"({"key": "k", "effect": "Never"})"), "effect", "must be one of"},
      {TolerationSpec(R"({"key": "k", "tolerationSeconds": 1, "effect": "NoSchedule"})"), "effect",
       "must be NoExecute"},
      {TolerationSpec("7"), "tolerations[0]", "must be an object"},
  };
}

std::vector<std::string> RightSpecs() {
  return {
      std::string(R"({"nodeName": "", "schedulerName": ""})"),
      ExpressionSpec(R"({"key": "example.com/a", "operator": "Gt", "values": ["5"]})"),
      FieldSpec(R"({"key": "metadata.name", "operator": "NotIn", "values": ["node-1"]})"),
      std::string(R"({"affinity": {"nodeAffinity":
               {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference":
               {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}}]}}})"),
      PodTermSpec(R"({"topologyKey": "a", "labelSelector": {}, "mismatchLabelKeys": ["k"]})"),
      PodTermSpec(R"({"topologyKey": "a", "labelSelector": {"matchLabels": {"k": "v"}},
          "mismatchLabelKeys": ["k"]})"),
      TolerationSpec(R"({"operator": "Exists"})"),
      TolerationSpec(R"({"key": "k", "operator": "", "value": "", "effect": ""})"),
      TolerationSpec(R"({"key": "k", "effect": "NoExecute", "tolerationSeconds": -1})"),
  };
}

}  // namespace policy
