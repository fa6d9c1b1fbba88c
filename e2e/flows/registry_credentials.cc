// SPDX-License-Identifier: Apache-2.0
// Registries with authentication: a password (Debian's docker-registry, as its flow waits for the
// last attempt, for minutes), and tokens of a token server (distribution 3, and a fake registry,
// on the event loop of the flow).
#include <cstdlib>

#include "e2e/framework/flow_fixture.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/token_server.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/crypto/certificates.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::DockerRegistry;
using inspection::FakeRegistry;
using inspection::Publisher;
using inspection::RegistryProgram;

class RegistryCredentialsFlow : public FlowFixture {
 protected:
  // Enough time to correct the Secret before the pod is ungated.
  kube::Result<> Know(const std::string& host, const char* retry_period) {
    return UseClusterConfig(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", retry_period),
                            "[[registry]]\nlocation = \"" + host + "\"\ninsecure = true\n");
  }

  static Step CreateSecret(const std::string& name, const std::string& docker_config) {
    return Create(kSecrets, PullSecret(name, docker_config));
  }

  // Gated, with the label and an annotation that contains all `words`.
  static Condition HasInspectionError(const std::string& pod,
                                      const std::vector<std::string>& words) {
    return OfPod(pod, "has the inspection error in its annotation", [words](const Json& state) {
      if (!state["metadata"].value("labels", Json::object()).contains(api::kInspectErrorLabel))
        return false;
      std::string text = state["metadata"]
                             .value("annotations", Json::object())
                             .value(std::string(api::kInspectErrorAnnotation), "");
      bool all = true;
      for (const std::string& word : words) all &= text.find(word) != std::string::npos;
      return all && state["spec"].contains("schedulingGates");
    });
  }
};

TEST_F(RegistryCredentialsFlow, APasswordServesOnlyThePodsThatHaveIt) {
  std::string folder =
      std::string(std::getenv("TEST_TMPDIR") == nullptr ? "/tmp" : std::getenv("TEST_TMPDIR")) +
      "/" + scene().ns();
  DockerRegistry registry({.folder = folder, .storage = folder + "/storage", .password = true});
  Publisher publisher(cluster().io(), registry.port(), "Basic " + kube::Base64Encode("u:secret"));
  publisher.PushImage("team/app", "1", {"linux", "s390x"}, inspection::kOciManifest);
  ASSERT_FALSE(HasFailure());
  kube::Result<> known = Know(registry.host(), "5s");
  ASSERT_TRUE(known) << known.error();
  const std::string image = registry.host() + "/team/app:1";

  Flow(scene(), "a private registry, with a password")
      .Do(CreateSecret("right", DockerConfig(registry.host(), "u", "secret")))
      .Do(CreateSecret("wrong", DockerConfig(registry.host(), "u", "guess")))
      .Do(Create(MakePod("with").Image(image).PullSecret("right")))
      .Await(Requires("with", {"s390x"}))
      // A cached answer for one pod's credentials does not serve another pod.
      .Do(Create(MakePod("without").Image(image)))
      .Do(Create(MakePod("mistaken").Image(image).PullSecret("wrong")))
      .Await(HasInspectionError("without", {image, registry.host(), "401", "0 credentials"}))
      .Await(HasInspectionError("mistaken", {image, registry.host(), "401", "1 credential"}))
      .Await(EventAbout("without", std::string(api::kReasonInspectionError),
                        {image, registry.host(), "401"}))
      // I3: ungated after the last attempt, without a requirement.
      .Await(Ungated("without"), 240s)
      .Await(Ungated("mistaken"), 240s)
      .Check(Labelled("without", std::string(api::kInspectErrorCountLabel), "5"))
      .Check(OfPod("without", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }))
      .Check(OfPod("mistaken", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }))
      .Never(GateRemovedWithoutItsDecision());
}

TEST_F(RegistryCredentialsFlow, TokensAreUsedOnceTheSecretIsCorrected) {
  FakeRegistry registry(cluster().io().get_executor(), {});
  registry.PutIndex("team/app", "1", {{"linux", "arm64"}, {"linux", "ppc64le"}});
  registry.RequireToken("u", "secret");
  // With a period of 60 s, the third backoff is 17 s: the Secret is corrected before the last
  // attempt.
  kube::Result<> known = Know(registry.host(), "60s");
  ASSERT_TRUE(known) << known.error();
  const std::string image = registry.host() + "/team/app:1";

  Flow(scene(), "a private registry, with tokens")
      .Do(CreateSecret("pull", DockerConfig(registry.host(), "u", "guess")))
      .Do(Create(MakePod("early").Image(image).PullSecret("pull")))
      .Await(HasInspectionError("early", {image, registry.host(), "401"}))
      .Do(Change(kSecrets, "pull",
                 {{"data", {{".dockerconfigjson", DockerConfig(registry.host(), "u", "secret")}}}}))
      .Await(Requires("early", {"arm64", "ppc64le"}))
      .Check(OfPod("early", "does not speak of an error any more",
                   [](const Json& pod) {
                     Json annotations = pod["metadata"].value("annotations", Json::object());
                     return !pod["metadata"]["labels"].contains(api::kInspectErrorLabel) &&
                            !annotations.contains(api::kInspectErrorAnnotation);
                   }))
      .Never(GateRemovedWithoutItsDecision());
  EXPECT_GE(registry.Count("GET /token"), 2) << "one with each password";
}

// The authority of both servers is in a ConfigMap.
TEST_F(RegistryCredentialsFlow, ADistributionsTokensServeOnlyThePodsThatHaveThem) {
  if (!IsInstalled(RegistryProgram::kDistribution))
    GTEST_SKIP() << HowToInstall(RegistryProgram::kDistribution);
  std::string folder =
      std::string(std::getenv("TEST_TMPDIR") == nullptr ? "/tmp" : std::getenv("TEST_TMPDIR")) +
      "/" + scene().ns();
  const kube::KeyPair ca =
      *kube::NewCertificateAuthority("registries", std::chrono::hours(1), kube::RealClock());
  const kube::KeyPair signer =
      *kube::NewCertificateAuthority("tokens", std::chrono::hours(1), kube::RealClock());
  const kube::KeyPair serving =
      *kube::NewServingCertificate(ca, {"127.0.0.1"}, std::chrono::hours(1), kube::RealClock());
  inspection::TokenServer tokens(cluster().io().get_executor(), serving, signer);
  DockerRegistry open({.program = RegistryProgram::kDistribution,
                       .folder = folder + "/open",
                       .storage = folder + "/storage"});
  DockerRegistry registry({.program = RegistryProgram::kDistribution,
                           .folder = folder + "/closed",
                           .storage = folder + "/storage",
                           .certificate = serving,
                           .token_realm = tokens.url(),
                           .token_certificate_pem = signer.certificate_pem});
  Publisher publisher(cluster().io(), open.port(), "");
  publisher.PushImage("team/app", "1", {"linux", "s390x"}, inspection::kOciManifest);
  ASSERT_FALSE(HasFailure());
  const std::string bundle = "e2e-registry-authorities";
  auto created = scene().Create(
      kConfigMaps, {{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", {{"name", bundle}, {"namespace", cluster().operator_namespace()}}},
                    {"data", {{"ca-bundle.crt", ca.certificate_pem}}}});
  ASSERT_TRUE(created) << created.error();
  kube::Result<> known =
      UseClusterConfig(DefaultClusterConfig().Set("/spec/caBundleConfigMapRef/name", bundle));
  ASSERT_TRUE(known) << known.error();
  const std::string image = registry.host() + "/team/app:1";

  Flow(scene(), "distribution 3, with tokens")
      .Do(CreateSecret("right", DockerConfig(registry.host(), "u", "secret")))
      .Do(CreateSecret("wrong", DockerConfig(registry.host(), "u", "guess")))
      .Do(Create(MakePod("with").Image(image).PullSecret("right")))
      .Await(Requires("with", {"s390x"}))
      .Do(Create(MakePod("mistaken").Image(image).PullSecret("wrong")))
      .Await(HasInspectionError("mistaken", {image, registry.host(), "401", "1 credential"}))
      .Never(GateRemovedWithoutItsDecision());
  kube::Result<> restored = UseClusterConfig(DefaultClusterConfig());
  EXPECT_TRUE(restored) << restored.error();
  auto deleted = cluster().Run(kube::DeleteObject(cluster().client(), kConfigMaps,
                                                  {cluster().operator_namespace(), bundle}));
  EXPECT_TRUE(deleted) << deleted.error();
}

// The controller watches that one Secret, for which the operator grants the right.
TEST_F(RegistryCredentialsFlow, TheGlobalSecretIsUsedUntilItIsDeleted) {
  const kube::ObjectKey secret{cluster().operator_namespace(), "global-pull"};
  FakeRegistry registry(cluster().io().get_executor(), {});
  registry.PutIndex("team/app", "1", {{"linux", "arm64"}, {"linux", "ppc64le"}});
  registry.RequireToken("u", "secret");
  const std::string image = registry.host() + "/team/app:1";
  Step create{.name = "create the global secret", .act = [&](Scene& scene) -> kube::Result<> {
                Json global = PullSecret(secret.name, DockerConfig(registry.host(), "u", "secret"));
                global["metadata"]["namespace"] = secret.ns;
                auto created = scene.Create(kSecrets, std::move(global));
                if (!created) return created.error();
                return kube::Ok();
              }};
  Step remove{.name = "delete the global secret", .act = [&](Scene&) {
                return cluster().Run(kube::DeleteObject(cluster().client(), kSecrets, secret));
              }};
  kube::Result<> known =
      UseClusterConfig(DefaultClusterConfig()
                           .Set("/spec/inspectionRetryPeriod", "60s")
                           .Set("/spec/globalPullSecretRef/name", secret.name),
                       "[[registry]]\nlocation = \"" + registry.host() + "\"\ninsecure = true\n");
  ASSERT_TRUE(known) << known.error();

  Flow flow(scene(), "the global pull secret");
  flow.Do(create)
      .Do(Create(MakePod("with").Image(image)))
      .Await(Requires("with", {"arm64", "ppc64le"}))
      .Do(remove)
      .Do(Create(MakePod("without").Image(image)))
      .Await(HasInspectionError("without", {image, "401", "0 credentials"}))
      .Do(create)
      .Await(Requires("without", {"arm64", "ppc64le"}))
      .Do(remove);
}

}  // namespace
}  // namespace e2e
