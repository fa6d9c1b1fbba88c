// SPDX-License-Identifier: Apache-2.0
// Compares the CRD files and the tables of docs/reference.md with the field lists of the code, in
// both directions. The integration tier tests what the API server makes of the files.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/architecture.h"
#include "api/cluster_pod_placement_config.h"
#include "api/fields.h"
#include "api/label_selector.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/codec/yaml.h"

namespace api {
namespace {

using kube::Find;
using kube::Json;

Json Load(const std::string& name) {
  std::ifstream file("api/crds/" + name + ".yaml");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  auto documents = kube::ParseYamlDocuments(text.str());
  EXPECT_TRUE(documents && documents->size() == 1) << name;
  return documents && !documents->empty() ? (*documents)[0] : Json();
}

const Json& Version(const Json& crd, std::string_view name) {
  for (const Json& version : crd["spec"]["versions"]) {
    if (version["name"] == name) return version;
  }
  ADD_FAILURE() << "no version " << name;
  return crd;
}

template <class T>
void ExpectServes(const Json& crd) {
  kube::Resource resource = kube::ResourceOf<T>::value;
  EXPECT_EQ(kube::StringAt(crd, "metadata.name"),
            std::string(resource.plural) + "." + std::string(kGroup));
  EXPECT_EQ(kube::StringAt(crd, "spec.group"), resource.group);
  EXPECT_EQ(kube::StringAt(crd, "spec.names.plural"), resource.plural);
  EXPECT_EQ(kube::StringAt(crd, "spec.names.kind"), resource.kind);
  EXPECT_EQ(kube::StringAt(crd, "spec.scope"), resource.namespaced ? "Namespaced" : "Cluster");
  const Json& version = Version(crd, resource.version);
  EXPECT_TRUE(kube::BoolAt(version, "served"));
  EXPECT_TRUE(kube::BoolAt(version, "storage"));
}

// The visitor that collects a field list (fields.h) as a schema, with the keywords of a CRD.
// `unique` stands for the rule that no two items have the same value in a field, `refused` for the
// one that a string has none of these values.
class FieldSchema {
 public:
  template <class T>
  static Json Of() {
    FieldSchema fields;
    T value;
    T::Fields(value, fields);
    Json schema = {{"type", "object"}, {"properties", fields.properties_}};
    if (!fields.required_.empty()) schema["required"] = fields.required_;
    return schema;
  }

  void operator()(std::string_view name, int64_t, Range range, Presence presence = kOptional) {
    Json schema = {{"type", "integer"}};
    if (range.low != Range().low) schema["minimum"] = range.low;
    if (range.high != Range().high) schema["maximum"] = range.high;
    Add(name, schema, presence);
  }
  void operator()(std::string_view name, bool, Presence presence = kOptional) {
    Add(name, {{"type", "boolean"}}, presence);
  }
  void operator()(std::string_view name, const std::string&, Presence presence = kOptional) {
    Add(name, {{"type", "string"}}, presence);
  }
  void operator()(std::string_view name, const std::string&, OneOf allowed,
                  Presence presence = kOptional) {
    Json schema = {{"type", "string"}, {"enum", Json::array()}};
    for (std::string_view value : allowed.values) schema["enum"].push_back(std::string(value));
    Add(name, schema, presence);
  }
  void operator()(std::string_view name, const std::string&, Architecture architecture,
                  Presence presence = kOptional) {
    std::string length = std::to_string(kMaxArchitectureName);
    Json refused = Json::array();
    for (std::string_view word : kNoArchitectures) refused.push_back(std::string(word));
    Add(name,
        {{"type", "string"},
         {"maxLength", kMaxArchitectureName},
         {"pattern",
          "^[a-z0-9]{" + std::string(architecture.or_empty ? "0," : "1,") + length + "}$"},
         {"refused", refused}},
        presence);
  }
  void operator()(std::string_view name, const std::string&, ObjectName) {
    Add(name, {{"type", "object"},
               {"properties", {{"name", {{"type", "string"}}}}},
               {"required", {"name"}}});
  }
  void operator()(std::string_view name, const std::string&, LabelKey) {
    Add(name, {{"type", "string"}});
  }
  void operator()(std::string_view name, const std::string&, DnsLabel) {
    Add(name, {{"type", "string"}, {"maxLength", 63}}, kRequired);
  }
  void operator()(std::string_view name, const std::string&, MaxSize max) {
    Add(name, {{"type", "string"}, {"maxLength", max.bytes}}, kRequired);
  }
  void operator()(std::string_view name, const std::string&, Quantity) {
    Add(name, {{"type", "string"}});
  }
  void operator()(std::string_view name, const std::optional<int64_t>&, Range range) {
    (*this)(name, int64_t{0}, range);
  }
  void operator()(std::string_view name, const std::vector<std::string>&, Names limits) {
    Json item = {{"type", "string"}, {"maxLength", limits.max_bytes}};
    Add(name, {{"type", "array"}, {"maxItems", limits.max_items}, {"items", item}});
  }
  void operator()(std::string_view name, const std::vector<std::string>&, SomeOf allowed) {
    Json item = {{"type", "string"}, {"enum", Json::array()}};
    for (std::string_view value : allowed.values) item["enum"].push_back(std::string(value));
    Add(name,
        {{"type", "array"}, {"minItems", 1}, {"maxItems", allowed.values.size()}, {"items", item}});
  }
  void operator()(std::string_view name, std::chrono::seconds, Period) {
    Add(name, {{"type", "string"}});
  }
  void operator()(std::string_view name, const std::optional<kube::meta::LabelSelector>&) {
    Json values = {
        {"type", "array"}, {"maxItems", kMaxSelectorValues}, {"items", {{"type", "string"}}}};
    Json expression = {
        {"type", "object"},
        {"properties",
         {{"key", {{"type", "string"}}},
          {"operator", {{"type", "string"}, {"enum", {"In", "NotIn", "Exists", "DoesNotExist"}}}},
          {"values", values}}},
        {"required", {"key", "operator"}}};
    Add(name,
        {{"type", "object"},
         {"properties",
          {{"matchLabels", {{"type", "object"}, {"maxProperties", kMaxSelectorEntries}}},
           {"matchExpressions",
            {{"type", "array"}, {"maxItems", kMaxSelectorEntries}, {"items", expression}}}}}});
  }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>&, Presence presence = kOptional) {
    Add(name, Of<T>(), presence);
  }
  template <class T>
  void operator()(std::string_view name, const std::vector<T>&, Items limits,
                  Presence presence = kOptional) {
    Json schema = {{"type", "array"}, {"items", Of<T>()}};
    if (limits.min != Items().min) schema["minItems"] = limits.min;
    if (limits.max != Items().max) schema["maxItems"] = limits.max;
    if (!limits.unique.empty()) schema["unique"] = std::string(limits.unique);
    Add(name, schema, presence);
  }

 private:
  void Add(std::string_view name, Json schema, Presence presence = kOptional) {
    properties_[std::string(name)] = std::move(schema);
    if (presence == kRequired) required_.push_back(std::string(name));
  }

  Json properties_ = Json::object();
  std::vector<std::string> required_;
};

std::set<std::string> Strings(const Json& schema, const char* keyword) {
  std::set<std::string> strings;
  if (schema.contains(keyword)) {
    for (const Json& item : schema[keyword]) strings.insert(item.get<std::string>());
  }
  return strings;
}

std::set<std::string> NamesOf(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

// The CEL rule that no two items of a list have the same value in `field`.
std::string UniqueRule(const std::string& field) {
  return "self.all(p, self.exists_one(q, q." + field + " == p." + field + "))";
}

// The CEL rule that a string is none of `refused`.
std::string NoneOfRule(const Json& refused) {
  std::string values;
  for (const Json& value : refused)
    values += (values.empty() ? "'" : ", '") + value.get<std::string>() + "'";
  return "!(self in [" + values + "])";
}

// `crd` and `code` have the same properties, with the same types, bounds and required fields. Only
// the CRD has formats, and most of the lengths and patterns.
void ExpectSame(const Json& crd, const Json& code, const std::string& path) {
  for (const char* keyword :
       {"type", "minimum", "maximum", "minItems", "maxItems", "maxProperties"}) {
    EXPECT_EQ(crd.value(keyword, Json()), code.value(keyword, Json())) << path << ": " << keyword;
  }
  EXPECT_EQ(Strings(crd, "enum"), Strings(code, "enum")) << path;
  EXPECT_EQ(Strings(crd, "required"), Strings(code, "required")) << path;
  if (code.contains("refused")) {
    for (const char* keyword : {"maxLength", "pattern"})
      EXPECT_EQ(crd.value(keyword, Json()), code[keyword]) << path << ": " << keyword;
    const Json* rules = Find(crd, "x-kubernetes-validations");
    ASSERT_NE(rules, nullptr) << path;
    EXPECT_EQ(rules->at(0)["rule"], NoneOfRule(code["refused"])) << path;
  }
  if (code.contains("unique")) {
    std::string rule = UniqueRule(code["unique"].get<std::string>());
    const Json* rules = Find(crd, "x-kubernetes-validations");
    const Json* keys = Find(crd, "x-kubernetes-list-map-keys");
    ASSERT_TRUE(rules != nullptr || keys != nullptr) << path << " has no rule " << rule;
    if (keys != nullptr) {
      EXPECT_EQ(*keys, Json::array({code["unique"]})) << path;
    } else {
      EXPECT_EQ(rules->at(0)["rule"], rule) << path;
    }
  }
  Json properties = crd.value("properties", Json::object());
  Json fields = code.value("properties", Json::object());
  EXPECT_EQ(NamesOf(properties), NamesOf(fields)) << path << ": CRD, then code";
  for (const auto& [name, field] : fields.items()) {
    if (properties.contains(name)) ExpectSame(properties[name], field, path + "." + name);
  }
  if (crd.contains("items") && code.contains("items"))
    ExpectSame(crd["items"], code["items"], path + "[]");
}

// A default in the schema is the value that the code has for an absent field.
void ExpectDefaults(const Json& schema, const Json& absent, const std::string& path) {
  for (const auto& [name, property] : schema["properties"].items()) {
    if (property.contains("default")) {
      EXPECT_EQ(property["default"], absent.value(name, Json())) << path << "." << name;
    }
  }
}

const Json& SchemaOf(const Json& crd, std::string_view version) {
  return Version(crd, version)["schema"]["openAPIV3Schema"]["properties"];
}

TEST(CrdsTest, PodPlacementConfigHasTheFieldsOfTheCode) {
  Json crd = Load("podplacementconfigs");
  ExpectServes<PodPlacementConfig>(crd);
  const Json& schema = SchemaOf(crd, "v1beta1");
  ExpectSame(schema["spec"], FieldSchema::Of<PodPlacementConfigSpec>(), "spec");
  ExpectSame(schema["status"], FieldSchema::Of<PodPlacementConfigStatus>(), "status");
  ExpectDefaults(schema["spec"], SpecToJson(PodPlacementConfigSpec()), "spec");
}

TEST(CrdsTest, ClusterPodPlacementConfigHasTheFieldsOfTheCode) {
  Json crd = Load("clusterpodplacementconfigs");
  ExpectServes<ClusterPodPlacementConfig>(crd);
  const Json& schema = SchemaOf(crd, "v1beta1");
  ExpectSame(schema["spec"], FieldSchema::Of<ClusterPodPlacementConfigSpec>(), "spec");
  ExpectSame(schema["status"], FieldSchema::Of<ClusterPodPlacementConfigStatus>(), "status");
  ExpectDefaults(schema["spec"], SpecToJson(ClusterPodPlacementConfigSpec()), "spec");
}

// Through ConvertClusterPodPlacementConfig() no field is lost: see conversion_test.cc.
TEST(CrdsTest, TheFieldsOfTheOldVersionAreThoseOfTheNewOne) {
  Json crd = Load("clusterpodplacementconfigs");
  const Json& old_spec = SchemaOf(crd, "v1alpha1")["spec"]["properties"];
  const Json& new_spec = SchemaOf(crd, "v1beta1")["spec"]["properties"];
  EXPECT_EQ(NamesOf(old_spec), (std::set<std::string>{"logVerbosity", "namespaceSelector"}));
  for (const auto& [name, property] : old_spec.items()) EXPECT_EQ(property, new_spec[name]) << name;
  EXPECT_EQ(SchemaOf(crd, "v1alpha1")["status"], SchemaOf(crd, "v1beta1")["status"]);
}

// The fields of `schema` under `path`, with whether they are required: {"spec.priority", false}.
void AddFields(const Json& schema, const std::string& path, std::map<std::string, bool>& fields) {
  std::set<std::string> required = Strings(schema, "required");
  Json properties = schema.value("properties", Json::object());
  for (const auto& [name, field] : properties.items()) {
    fields[path + "." + name] = required.contains(name);
    AddFields(field, path + "." + name, fields);
    if (field.contains("items")) AddFields(field["items"], path + "." + name + "[]", fields);
  }
}

// The same from the table of docs/reference.md under `heading`, whose rows are "| `spec.priority` |
// type | default | meaning |". The default of a required field is "required".
std::map<std::string, bool> FieldsInReference(const std::string& heading) {
  std::ifstream file("docs/reference.md");
  EXPECT_TRUE(file);
  std::map<std::string, bool> fields;
  std::string line;
  while (std::getline(file, line) && line != "## " + heading) continue;
  while (std::getline(file, line) && !line.starts_with("## ")) {
    if (!line.starts_with("| `")) continue;
    std::string name = line.substr(3, line.find('`', 3) - 3);
    fields[name] = line.find(" | required | ") != std::string::npos;
  }
  return fields;
}

TEST(CrdsTest, TheReferenceHasTheFieldsOfTheCode) {
  std::map<std::string, bool> fields;
  AddFields(FieldSchema::Of<PodPlacementConfigSpec>(), "spec", fields);
  EXPECT_EQ(FieldsInReference("PodPlacementConfig fields"), fields);
  fields.clear();
  AddFields(FieldSchema::Of<ClusterPodPlacementConfigSpec>(), "spec", fields);
  EXPECT_EQ(FieldsInReference("ClusterPodPlacementConfig fields"), fields);
}

// The paths of the fields below `schema` without a description. Items of a list are described by
// the list.
void CollectUndescribed(const Json& schema, const std::string& path,
                        std::vector<std::string>& undescribed) {
  const Json* properties = Find(schema, "properties");
  if (properties != nullptr) {
    for (const auto& [name, field] : properties->items()) {
      // A sentence.
      std::string text = kube::StringAt(field, "description");
      if (text.size() < 10 || text.back() != '.') undescribed.push_back(path + name);
      CollectUndescribed(field, path + name + ".", undescribed);
    }
  }
  if (const Json* items = Find(schema, "items")) CollectUndescribed(*items, path, undescribed);
}

// `kubectl explain` shows them.
TEST(CrdsTest, EveryFieldHasADescription) {
  for (const char* name : {"podplacementconfigs", "clusterpodplacementconfigs"}) {
    Json crd = Load(name);
    for (const Json& version : crd["spec"]["versions"]) {
      Json schema = version["schema"]["openAPIV3Schema"];
      EXPECT_FALSE(kube::StringAt(schema, "description").empty()) << name;
      // Described by the API server.
      for (const char* known : {"apiVersion", "kind", "metadata"})
        schema["properties"].erase(known);
      std::vector<std::string> undescribed;
      CollectUndescribed(schema, "", undescribed);
      EXPECT_EQ(undescribed, std::vector<std::string>()) << name << " " << version["name"];
    }
  }
}

TEST(CrdsTest, TheOldVersionIsServedThroughTheOperator) {
  Json crd = Load("clusterpodplacementconfigs");
  const Json& alpha = Version(crd, "v1alpha1");
  EXPECT_TRUE(kube::BoolAt(alpha, "served"));
  EXPECT_FALSE(kube::BoolAt(alpha, "storage", true));
  EXPECT_EQ(kube::StringAt(crd, "spec.conversion.strategy"), "Webhook");
  const std::string service = "spec.conversion.webhook.clientConfig.service.";
  EXPECT_EQ(kube::StringAt(crd, service + "name"), kOperatorServiceName);
  EXPECT_EQ(kube::StringAt(crd, service + "namespace"), kDefaultOperatorNamespace);
  EXPECT_EQ(kube::StringAt(crd, service + "path"), kConversionPath);
}

}  // namespace
}  // namespace api
