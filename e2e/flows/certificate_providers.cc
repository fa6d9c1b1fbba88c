// SPDX-License-Identifier: Apache-2.0
// spec.certificates: cert-manager, then OpenShift's service-ca, then the operator issue the
// certificates of the cluster's components, while pods and configs are written all the time: no
// admission call fails. The test acts as cert-manager and as service-ca.
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "deploy/manifests.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/flows/admission_load.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/crypto/certificates.h"
#include "operator/deploy/manifests.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr Resource kCertificates{"cert-manager.io", "v1", "certificates", "Certificate"};
constexpr char kCertificatesCrd[] = "certificates.cert-manager.io";
constexpr char kServingSecret[] = "service.beta.openshift.io/serving-cert-secret-name";
constexpr char kInjectBundle[] = "service.beta.openshift.io/inject-cabundle";

class ProvidersFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    authority_ = *kube::NewCertificateAuthority("provider", 24h, cluster().clock());
  }
  void TearDown() override {
    auto used = UseClusterConfig(DefaultClusterConfig());
    EXPECT_TRUE(used) << used.error();
    kube::IgnoreError(scene().Delete(kube::kCustomResourceDefinitions, kCertificatesCrd),
                      "it may be absent");
    for (const auto& [resource, key] : installed_)
      kube::IgnoreError(cluster().Run(kube::DeleteObject(cluster().client(), resource, key)),
                        "it may be absent");
    Json no_annotation = {{"metadata", {{"annotations", {{kServingSecret, nullptr}}}}}};
    kube::IgnoreError(Patch(kServices, std::string(api::kOperatorServiceName), no_annotation),
                      "it may be absent");
    FlowFixture::TearDown();
  }

  const std::string& ops() { return cluster().operator_namespace(); }
  Result<> Patch(const Resource& resource, const std::string& name, Json patch,
                 const std::string& subresource = "") {
    auto patched =
        cluster().Run(kube::PatchObject(cluster().client(), resource, {ops(), name},
                                        kube::kMergePatch, std::move(patch), subresource));
    if (!patched) return patched.error();
    return Ok();
  }
  std::vector<Json> List(const Resource& resource) {
    auto list = cluster().Run(
        kube::ListObjects(cluster().client(), resource, kube::ListOptions{.ns = ops()}));
    std::vector<Json> objects;
    for (const kube::Unstructured& object : list ? list->items : std::vector<kube::Unstructured>())
      objects.push_back(object.body());
    return objects;
  }

  // Applies the objects that the component adds or changes in the operator's namespace.
  void Install(const std::string& component, const std::set<std::string>& kinds) {
    auto objects = operator_::LoadManifests({.ns = ops(), .images = {}, .components = {component}});
    ASSERT_TRUE(objects) << objects.error();
    auto base = operator_::LoadManifests({.ns = ops(), .images = {}, .components = {}});
    ASSERT_TRUE(base) << base.error();
    for (const kube::Unstructured& object : *objects) {
      bool in_base = false;
      bool same = false;
      for (const kube::Unstructured& other : *base) {
        if (deploy::Describe(object) != deploy::Describe(other)) continue;
        in_base = true;
        same = object.body() == other.body();
      }
      if (same || !kinds.contains(kube::StringAt(object.body(), "kind"))) continue;
      auto resource = deploy::ResourceOfObject(object);
      ASSERT_TRUE(resource) << resource.error();
      auto applied = cluster().Run(
          kube::ApplyObject(cluster().client(), *resource, object, {"integration-test"}));
      ASSERT_TRUE(applied) << applied.error();
      if (!in_base) installed_.emplace_back(*resource, kube::KeyOf(object));
    }
  }
  // cert-manager's CRD, as far as the operator uses it.
  Json CertificatesCrd() {
    Json version = {{"name", "v1"}, {"served", true}, {"storage", true}};
    version["subresources"]["status"] = Json::object();
    version["schema"]["openAPIV3Schema"] = {{"type", "object"},
                                            {"x-kubernetes-preserve-unknown-fields", true}};
    Json crd = {{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}};
    crd["metadata"]["name"] = kCertificatesCrd;
    crd["spec"] = {{"group", "cert-manager.io"},
                   {"scope", "Namespaced"},
                   {"names", {{"plural", "certificates"}, {"kind", "Certificate"}}},
                   {"versions", Json::array({version})}};
    return crd;
  }

  // Writes a Secret with a certificate of authority_, if it has none yet.
  void Issue(const std::string& name, const std::vector<std::string>& dns_names, bool with_ca) {
    kube::ObjectKey key{ops(), name};
    auto found = cluster().Run(kube::GetObject(cluster().client(), kSecrets, key));
    if (found) {
      auto pem = kube::Base64Decode(found->body()["data"].value("tls.crt", ""));
      if (pem && kube::SignedBy(*pem, authority_.certificate_pem)) return;
    }
    auto pair = kube::NewServingCertificate(authority_, dns_names, 12h, cluster().clock());
    ASSERT_TRUE(pair) << pair.error();
    Json data = {{"tls.crt", kube::Base64Encode(pair->certificate_pem)},
                 {"tls.key", kube::Base64Encode(pair->private_key_pem)}};
    if (with_ca) data["ca.crt"] = kube::Base64Encode(authority_.certificate_pem);
    if (found) {
      auto patched = Patch(kSecrets, name, {{"data", data}});
      ASSERT_TRUE(patched) << patched.error();
      return;
    }
    Json secret = {{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "kubernetes.io/tls"}};
    secret["metadata"] = {{"name", name}, {"namespace", ops()}};
    secret["data"] = data;
    auto created = scene().Create(kSecrets, secret);
    ASSERT_TRUE(created) << created.error();
    installed_.emplace_back(kSecrets, std::move(key));
  }
  void ActAsCertManager() {
    for (const Json& certificate : List(kCertificates)) {
      const Json& spec = certificate["spec"];
      EXPECT_EQ(kube::StringAt(spec, "issuerRef.name"), "corporate");
      Issue(kube::StringAt(spec, "secretName"), spec["dnsNames"].get<std::vector<std::string>>(),
            /*with_ca=*/true);
      Json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "Ready"}, {"message", ""}};
      kube::IgnoreError(Patch(kCertificates, kube::StringAt(certificate, "metadata.name"),
                              {{"status", {{"conditions", Json::array({ready})}}}}, "status"),
                        "the next turn repeats it");
    }
  }
  void ActAsServiceCa() {
    for (const Json& service : List(kServices)) {
      const Json annotations = service["metadata"].value("annotations", Json::object());
      std::string secret = annotations.value(kServingSecret, "");
      std::string name = kube::StringAt(service, "metadata.name") + "." + ops() + ".svc";
      if (!secret.empty()) Issue(secret, {name, name + ".cluster.local"}, /*with_ca=*/false);
    }
    for (const Json& map : List(kConfigMaps)) {
      const Json annotations = map["metadata"].value("annotations", Json::object());
      const Json data = map.value("data", Json::object());
      if (annotations.value(kInjectBundle, "") != "true" ||
          data.value("service-ca.crt", "") == authority_.certificate_pem)
        continue;
      kube::IgnoreError(Patch(kConfigMaps, kube::StringAt(map, "metadata.name"),
                              {{"data", {{"service-ca.crt", authority_.certificate_pem}}}}),
                        "the next turn repeats it");
    }
  }

  void Use(Json certificates) {
    Flow(scene(), "spec.certificates")
        .Do(Change(kClusterConfigs, std::string(api::kClusterConfigName),
                   {{"spec", {{"certificates", std::move(certificates)}}}}));
  }
  // How many components serve a certificate of `authority_`.
  int Provided() {
    int provided = 0;
    for (std::string_view service :
         {api::kOperatorServiceName, api::kWebhookName, api::kControllerName}) {
      auto secret = cluster().Run(kube::GetObject(cluster().client(), kSecrets,
                                                  kube::ObjectKey{ops(), std::string(service)}));
      auto pem = kube::Base64Decode(secret ? secret->body()["data"].value("tls.crt", "") : "");
      provided += pem && kube::SignedBy(*pem, authority_.certificate_pem);
    }
    return provided;
  }
  Condition AreProvided(int count) {
    return {.name = std::to_string(count) + " components have a certificate of the provider",
            .holds = [this, count](Scene&) -> Result<> {
              int found = Provided();
              if (found == count) return Ok();
              return Error::NotFound("there are " + std::to_string(found));
            }};
  }
  Condition Says(const std::string& status, const std::string& reason) {
    return HasStatusCondition(kClusterConfigs, std::string(api::kClusterConfigName),
                              "CertificatesProvided", status, reason);
  }
  // Acts as the provider and calls the webhooks until both hold, and ten seconds more.
  void Await(AdmissionLoad& load, const std::function<void()>& act, const Condition& first,
             const Condition& second) {
    kube::TimePoint deadline = cluster().clock().Now() + 180s;
    kube::TimePoint end = deadline;
    Result<> held;
    while (cluster().clock().Now() < end && !HasFatalFailure()) {
      Result<> called = load.CallEachWebhook();
      ASSERT_TRUE(called) << called.error();
      act();
      cluster().Pause(200ms);
      if (end < deadline) continue;
      held = first.holds(scene());
      if (held) held = second.holds(scene());
      if (held) end = cluster().clock().Now() + 10s;
    }
    ASSERT_TRUE(held) << first.name << ", " << second.name << ": " << held.error();
  }

  kube::KeyPair authority_;
  std::vector<std::pair<Resource, kube::ObjectKey>> installed_;
};

TEST_F(ProvidersFlow, ChangesOfTheProviderCostNoAdmissionCall) {
  const Json by_cert_manager = {{"provider", "CertManager"},
                                {"issuerRef", {{"name", "corporate"}}}};
  Flow flow(scene(), "providers of certificates");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  AdmissionLoad load(scene());

  // The status reports what is missing, and nothing else changes.
  Use(by_cert_manager);
  flow.Await(Says("False", "CertManagerRightsMissing"));
  Install("cert-manager", {"Role", "RoleBinding"});
  flow.Await(Says("False", "CertManagerNotInstalled"))
      .Do(Create(kube::kCustomResourceDefinitions, CertificatesCrd()))
      .Await(Says("False", "CertManagerNotReady"))
      .Check(AreProvided(0));
  if (flow.failed() || HasFatalFailure()) return;

  Await(
      load, [this] { ActAsCertManager(); }, Says("True", "CertManagerReady"), AreProvided(3));
  if (HasFatalFailure()) return;
  // A new authority of the provider.
  authority_ = *kube::NewCertificateAuthority("provider", 24h, cluster().clock());
  Await(
      load, [this] { ActAsCertManager(); }, AreProvided(3), AreProvided(3));
  if (HasFatalFailure()) return;

  authority_ = *kube::NewCertificateAuthority("service-ca", 24h, cluster().clock());
  Use({{"provider", "ServiceCA"}, {"issuerRef", nullptr}});
  Install("openshift", {"Service", "ConfigMap"});
  if (HasFatalFailure()) return;
  Await(
      load, [this] { ActAsServiceCa(); }, Says("True", "ServiceCAReady"), AreProvided(3));
  if (HasFatalFailure()) return;
  EXPECT_TRUE(List(kCertificates).empty());

  Use(nullptr);
  Await(
      load, [] {}, AreProvided(0), ShardReady());
  flow.Await(AllUngated(load.pods()));
  Result<> checked = load.CheckCalls();
  EXPECT_TRUE(checked) << checked.error();
  std::cout << load.pods() << " pods were created" << std::endl;
}

}  // namespace
}  // namespace e2e
