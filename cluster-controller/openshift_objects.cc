// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/openshift_objects.h"

#include <glog/logging.h>

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

constexpr Resource kImages{"config.openshift.io", "v1", "images", "Image", /*namespaced=*/false};

// The kinds of mirrors, each with the parser of its objects.
struct MirrorKind {
  Resource resource;
  void (*add)(const kube::Json&, inspection::RegistryRules&);
};
constexpr MirrorKind kMirrorKinds[] = {
    {{"config.openshift.io", "v1", "imagedigestmirrorsets", "ImageDigestMirrorSet", false},
     inspection::AddDigestMirrorSet},
    {{"config.openshift.io", "v1", "imagetagmirrorsets", "ImageTagMirrorSet", false},
     inspection::AddTagMirrorSet},
    {{"operator.openshift.io", "v1alpha1", "imagecontentsourcepolicies", "ImageContentSourcePolicy",
      false},
     inspection::AddContentSourcePolicy},
};

// "registry.example..5000" -> "registry.example:5000": a ConfigMap's key has no colon.
std::string RegistryOfKey(std::string key) {
  if (size_t dots = key.rfind(".."); dots != std::string::npos) key.replace(dots, 2, ":");
  return key;
}

}  // namespace

kube::asio::awaitable<void> OpenShiftObjects::Run(kube::Clock& clock, kube::Duration interval,
                                                  std::function<void()> changed) {
  while (true) {
    OpenShiftConfig before = config_;
    Result<> read = co_await Read();
    if (FailedWith(read, kube::Code::kCancelled)) co_return;
    LOG_IF(WARNING, !read) << "cannot read OpenShift's configuration of registries: "
                           << read.error();
    if (config_ != before) changed();
    Result<> slept = co_await clock.Sleep(interval);
    if (!slept) co_return;
  }
}

Async<> OpenShiftObjects::Read() {
  OpenShiftConfig config;
  kube::ObjectKey cluster{"", "cluster"};
  Result<Unstructured> image = co_await kube::GetObject(client_, kImages, std::move(cluster));
  // Without permission the answer is 403 even if the kind does not exist. Discovery needs no
  // permission.
  bool not_openshift = IsNotFound(image);
  if (FailedWith(image, kube::Code::kPermissionDenied)) {
    kube::ApiRequest group{.target = "/apis/config.openshift.io"};
    Result<kube::ApiResponse> found = co_await client_.Call(std::move(group));
    not_openshift = IsNotFound(found);
  }
  if (not_openshift) {
    config_ = config;
    co_return kube::Ok();
  }
  if (!image) co_return image.error();
  config.present = true;
  inspection::AddImageConfig(image->body(), config.rules);
  std::string trusted = kube::StringAt(image->body(), "spec.additionalTrustedCA.name");
  if (!trusted.empty()) {
    Result<inspection::HostCertificates> certificates = co_await ReadTrustedCa(std::move(trusted));
    if (!certificates) co_return certificates.error();
    config.certificates = std::move(*certificates);
  }
  for (const MirrorKind& kind : kMirrorKinds) {
    kube::ListOptions all;
    auto listed = co_await kube::ListObjects(client_, kind.resource, std::move(all));
    if (!listed && !IsNotFound(listed)) co_return listed.error();
    if (!listed) continue;
    for (const Unstructured& object : listed->items) kind.add(object.body(), config.rules);
  }
  config_ = std::move(config);
  co_return kube::Ok();
}

Async<inspection::HostCertificates> OpenShiftObjects::ReadTrustedCa(std::string name) {
  inspection::HostCertificates certificates;
  kube::ObjectKey key{kOpenShiftConfigNamespace, std::move(name)};
  auto map = co_await kube::Get<kube::core::ConfigMap>(client_, std::move(key));
  if (!map && !IsNotFound(map)) co_return map.error().Prefix("additionalTrustedCA");
  if (!map) co_return certificates;
  for (const auto& [registry, pem] : map->data())
    certificates[RegistryOfKey(registry)].ca_pem = pem;
  co_return certificates;
}

}  // namespace cluster_controller
