// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/openshift_objects.h"

#include <glog/logging.h>

#include <utility>

#include "kube/client/typed.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

const kube::ObjectKey kImageRegistryCertificates{"openshift-image-registry",
                                                 "image-registry-certificates"};

constexpr Resource kImages{"config.openshift.io", "v1", "images", "Image", /*namespaced=*/false};

// The kinds of mirrors, each with the parser of its objects.
struct MirrorKind {
  Resource resource;
  void (*add)(const kube::Json&, inspection::RegistryRules&);
};
constexpr std::array<MirrorKind, 3> kMirrorKinds = {{
    {{"config.openshift.io", "v1", "imagedigestmirrorsets", "ImageDigestMirrorSet", false},
     inspection::AddDigestMirrorSet},
    {{"config.openshift.io", "v1", "imagetagmirrorsets", "ImageTagMirrorSet", false},
     inspection::AddTagMirrorSet},
    {{"operator.openshift.io", "v1alpha1", "imagecontentsourcepolicies", "ImageContentSourcePolicy",
      false},
     inspection::AddContentSourcePolicy},
}};

// "registry.example..5000" -> "registry.example:5000": a ConfigMap's key has no colon.
std::string RegistryOfKey(std::string key) {
  if (size_t dots = key.rfind(".."); dots != std::string::npos) key.replace(dots, 2, ":");
  return key;
}

}  // namespace

kube::ObjectKey GlobalPullSecret(const std::string& ns, const std::string& name,
                                 const OpenShiftConfig& openshift) {
  if (name.empty() && openshift.present) return {kOpenShiftConfigNamespace, "pull-secret"};
  return {ns, name};
}

kube::asio::awaitable<void> OpenShiftObjects::Run(kube::Clock& clock, kube::Duration interval,
                                                  std::function<void()> changed) {
  std::string logged;
  while (true) {
    OpenShiftConfig before = config_;
    Result<> read = co_await Read();
    if (FailedWith(read, kube::Code::kCancelled)) co_return;
    std::string problem = read ? "" : read.error().message();
    LOG_IF(WARNING, !read && problem != logged)
        << "cannot read OpenShift's configuration of registries: " << read.error();
    logged = std::move(problem);
    if (config_ != before) changed();
    Result<> slept = co_await clock.Sleep(interval);
    if (!slept) co_return;
  }
}

Async<> OpenShiftObjects::Read() {
  kube::ObjectKey cluster{"", "cluster"};
  Result<Unstructured> image = co_await kube::GetObject(client_, kImages, std::move(cluster));
  // Without permission the answer is 403 even if the kind does not exist. Discovery needs no
  // permission.
  bool not_openshift = IsNotFound(image);
  bool is_openshift = image || config_.present;
  if (FailedWith(image, kube::Code::kPermissionDenied)) {
    kube::ApiRequest group{.target = "/apis/config.openshift.io"};
    Result<kube::ApiResponse> found = co_await client_.Call(std::move(group));
    not_openshift = IsNotFound(found);
    is_openshift = is_openshift || found;
  }
  if (not_openshift) {
    parts_ = {};
    config_ = {};
    co_return kube::Ok();
  }
  if (!is_openshift) co_return image.error();

  // Each object by itself: one that cannot be read must not switch off what the others say.
  Result<> all = kube::Ok();
  auto failed = [&all](const kube::Error& error) {
    if (all) all = error;
  };
  if (image) {
    parts_.image = {};
    inspection::AddImageConfig(image->body(), parts_.image);
    kube::ObjectKey key{kOpenShiftConfigNamespace,
                        kube::StringAt(image->body(), "spec.additionalTrustedCA.name")};
    Result<inspection::HostCertificates> trusted = co_await ReadCertificates(std::move(key));
    if (trusted) parts_.trusted_ca = std::move(*trusted);
    if (!trusted) failed(trusted.error().Prefix("additionalTrustedCA"));
  } else {
    failed(image.error());
  }
  kube::ObjectKey key = kImageRegistryCertificates;
  Result<inspection::HostCertificates> certificates = co_await ReadCertificates(std::move(key));
  if (certificates) parts_.image_registry = std::move(*certificates);
  if (!certificates) failed(certificates.error());
  for (size_t i = 0; i < kMirrorKinds.size(); ++i) {
    kube::ListOptions options;
    auto listed = co_await kube::ListObjects(client_, kMirrorKinds[i].resource, std::move(options));
    if (!listed && !IsNotFound(listed)) {
      failed(listed.error());
      continue;
    }
    parts_.mirrors[i] = {};
    if (!listed) continue;
    for (const Unstructured& object : listed->items)
      kMirrorKinds[i].add(object.body(), parts_.mirrors[i]);
  }
  config_ = Compose();
  co_return all;
}

Async<inspection::HostCertificates> OpenShiftObjects::ReadCertificates(kube::ObjectKey config_map) {
  inspection::HostCertificates certificates;
  if (config_map.name.empty()) co_return certificates;
  auto map = co_await kube::Get<kube::core::ConfigMap>(client_, config_map);
  if (!map && !IsNotFound(map)) co_return map.error();
  if (!map) co_return certificates;
  size_t bytes = 0;
  for (const auto& [registry, pem] : map->data()) {
    bytes += registry.size() + pem.size();
    certificates[RegistryOfKey(registry)].ca_pem = pem;
  }
  if (bytes > kMaxRegistryCertificateBytes) {
    co_return kube::Error::Invalid("ConfigMap " + config_map.ns + "/" + config_map.name +
                                   " is larger than 1 MiB");
  }
  co_return certificates;
}

OpenShiftConfig OpenShiftObjects::Compose() const {
  OpenShiftConfig config{.present = true, .rules = parts_.image, .certificates = parts_.trusted_ca};
  for (const inspection::RegistryRules& rules : parts_.mirrors)
    config.rules.mirrors.insert(config.rules.mirrors.end(), rules.mirrors.begin(),
                                rules.mirrors.end());
  for (const auto& [registry, tls] : parts_.image_registry) {
    std::string& pem = config.certificates[registry].ca_pem;
    // It also has those of additionalTrustedCA.
    if (pem.find(tls.ca_pem) == std::string::npos) pem += (pem.empty() ? "" : "\n") + tls.ca_pem;
  }
  return config;
}

}  // namespace cluster_controller
