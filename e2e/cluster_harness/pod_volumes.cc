// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/pod_volumes.h"

#include <boost/beast/core/detail/base64.hpp>
#include <cctype>
#include <filesystem>

#include "e2e/cluster_harness/control_plane.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace e2e {

using kube::Async;
using kube::Error;
using kube::IsNotFound;
using kube::Ok;
using kube::Resource;
using kube::Result;

namespace {

constexpr std::string_view kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string DecodeBase64(const std::string& text) {
  namespace base64 = boost::beast::detail::base64;
  std::string bytes(base64::decoded_size(text.size()), '\0');
  bytes.resize(base64::decode(bytes.data(), text.data(), text.size()).first);
  return bytes;
}

// The file name of `key`; empty if `source` lists items without `key`.
std::string FileOfKey(const Json& source, const std::string& key) {
  if (!source.contains("items")) return key;
  for (const Json& item : source["items"]) {
    if (kube::StringAt(item, "key") == key) return kube::StringAt(item, "path");
  }
  return "";
}

}  // namespace

PodVolumes::PodVolumes(kube::Client& client, Json pod, std::string pod_ip, std::string folder)
    : client_(client),
      pod_(std::move(pod)),
      pod_ip_(std::move(pod_ip)),
      folder_(std::move(folder)) {
  std::map<std::string, std::string> folders;
  for (const Json& volume : kube::ListAt(pod_, "spec.volumes")) {
    std::string name = kube::StringAt(volume, "name");
    std::string on_host = kube::StringAt(volume, "hostPath.path");
    folders[name] = on_host.empty() ? folder_ + "/" + name : on_host;
    if (on_host.empty()) std::filesystem::create_directories(folders[name]);
  }
  for (const Json& container : kube::ListAt(pod_, "spec.containers")) {
    for (const Json& mount : kube::ListAt(container, "volumeMounts")) {
      mounts_[kube::StringAt(mount, "mountPath")] = folders[kube::StringAt(mount, "name")];
    }
  }
}

Async<> PodVolumes::Refresh() {
  for (const Json& volume : kube::ListAt(pod_, "spec.volumes")) {
    std::string folder = folder_ + "/" + kube::StringAt(volume, "name");
    Json sources = Json::array({volume});
    if (volume.contains("projected")) sources = kube::ListAt(volume, "projected.sources");
    for (const Json& source : sources) {
      Result<> written = co_await WriteSource(folder, source);
      if (!written) co_return written.error();
    }
  }
  co_return Ok();
}

Async<> PodVolumes::WriteSource(std::string folder, Json source) {
  Result<> written;
  for (const auto& [kind, detail] : source.items()) {
    if (kind == "secret") written = co_await WriteObject(folder, kSecrets, detail);
    if (kind == "configMap") written = co_await WriteObject(folder, kConfigMaps, detail);
    if (kind == "serviceAccountToken") written = co_await WriteToken(folder, detail);
    if (kind == "downwardAPI") WriteFields(folder, detail);
  }
  co_return written;
}

Async<> PodVolumes::WriteObject(std::string folder, Resource resource, Json source) {
  std::string name = kube::StringAt(source, "secretName", kube::StringAt(source, "name"));
  kube::ObjectKey object_key{FieldOfPod("metadata.namespace"), name};
  auto object = co_await kube::GetObject(client_, resource, object_key);
  if (IsNotFound(object) && kube::BoolAt(source, "optional")) co_return Ok();
  if (!object) co_return object.error();
  Json data = object->body().value("data", Json::object());
  for (const auto& [key, value] : data.items()) {
    std::string file = FileOfKey(source, key);
    if (file.empty()) continue;
    std::string text = value.get<std::string>();
    if (resource.kind == kSecrets.kind) text = DecodeBase64(text);
    Result<> written = WriteIfNew(folder + "/" + file, text);
    if (!written) co_return written.error();
  }
  co_return Ok();
}

Async<> PodVolumes::WriteToken(std::string folder, Json source) {
  std::string file = folder + "/" + kube::StringAt(source, "path", "token");
  // The token is valid for longer than any test.
  if (written_.contains(file)) co_return Ok();
  Json audiences = Json::array();
  if (source.contains("audience")) audiences.push_back(source["audience"]);
  Json request = {{"apiVersion", "authentication.k8s.io/v1"},
                  {"kind", "TokenRequest"},
                  {"spec",
                   {{"audiences", audiences},
                    {"expirationSeconds", 24 * 3600},
                    {"boundObjectRef",
                     {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"name", FieldOfPod("metadata.name")},
                      {"uid", FieldOfPod("metadata.uid")}}}}}};
  kube::ApiRequest call{
      .method = kube::Method::kPost,
      .target = kServiceAccounts.Path(FieldOfPod("metadata.namespace"),
                                      FieldOfPod("spec.serviceAccountName"), "token"),
      .content_type = std::string(kube::kJson),
      .body = kube::DumpJson(request)};
  auto answer = co_await client_.Call(std::move(call));
  if (!answer) co_return answer.error();
  Result<Json> json = kube::ParseJson(answer->body);
  if (!json) co_return json.error();
  co_return WriteIfNew(file, kube::StringAt(*json, "status.token"));
}

void PodVolumes::WriteFields(const std::string& folder, const Json& source) {
  for (const Json& item : kube::ListAt(source, "items")) {
    kube::IgnoreError(WriteIfNew(folder + "/" + kube::StringAt(item, "path"),
                                 FieldOfPod(kube::StringAt(item, "fieldRef.fieldPath"))),
                      "a program without the file says so");
  }
}

Result<> PodVolumes::WriteIfNew(const std::string& path, const std::string& text) {
  auto known = written_.find(path);
  if (known != written_.end() && known->second == text) return Ok();
  Result<> written = WriteFile(path, text);
  if (written) written_[path] = text;
  return written;
}

std::string PodVolumes::Translate(std::string text) const {
  // The longest path first, for a mount within a mount.
  for (auto mount = mounts_.rbegin(); mount != mounts_.rend(); ++mount) {
    size_t at = text.find(mount->first);
    // Not within another path, as "/tmp" is in "/var/tmp".
    if (at == std::string::npos ||
        (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]))))
      continue;
    return text.replace(at, mount->first.size(), mount->second);
  }
  return text;
}

std::string PodVolumes::TokenFolder() const {
  auto mount = mounts_.find(std::string(kTokenPath));
  return mount == mounts_.end() ? "" : mount->second;
}

std::string PodVolumes::FieldOfPod(const std::string& path) const {
  if (path == "status.podIP" || path == "status.podIPs") return pod_ip_;
  return kube::StringAt(pod_, path);
}

}  // namespace e2e
