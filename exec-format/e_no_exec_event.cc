// SPDX-License-Identifier: Apache-2.0
#include "exec-format/e_no_exec_event.h"

#include <utility>

namespace exec_format {

using kube::Json;

namespace {

struct Field {
  const char* name;
  std::string ENoExecEvent::*value;
};

constexpr Field kFields[] = {
    {"nodeName", &ENoExecEvent::node_name},
    {"podName", &ENoExecEvent::pod_name},
    {"podNamespace", &ENoExecEvent::pod_namespace},
    {"podUID", &ENoExecEvent::pod_uid},
    {"containerID", &ENoExecEvent::container_id},
    {"command", &ENoExecEvent::command},
    {"program", &ENoExecEvent::program},
};

}  // namespace

kube::Result<ENoExecEvent> ENoExecEvent::FromJson(Json object) {
  ENoExecEvent parsed;
  parsed.metadata_ = kube::MetadataFromJson(object);
  for (const Field& field : kFields)
    parsed.*field.value = kube::StringAt(object, std::string("status.") + field.name);
  return parsed;
}

Json ENoExecEvent::ToJson() const {
  constexpr kube::Resource kResource = kube::ResourceOf<ENoExecEvent>::value;
  Json status = Json::object();
  for (const Field& field : kFields) {
    if (!(this->*field.value).empty()) status[field.name] = this->*field.value;
  }
  return {{"apiVersion", kResource.ApiVersion()},
          {"kind", kResource.kind},
          {"metadata", kube::MetadataToJson(metadata_)},
          {"spec", Json::object()},
          {"status", std::move(status)}};
}

}  // namespace exec_format
