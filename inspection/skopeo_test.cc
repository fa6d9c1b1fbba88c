// SPDX-License-Identifier: Apache-2.0
// Compares the inspector with skopeo, on four configurations of Debian's docker-registry and three
// of distribution 3, one of which is a proxy of Debian's: with the same registries.conf, certs.d,
// auth file and policy.json both must find the same architectures, or fail. Differences by design:
// inspection/README.md.
#include "inspection/testing/skopeo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "inspection/base/manifest.h"
#include "inspection/config/node_files.h"
#include "inspection/inspector.h"
#include "inspection/testing/docker_registry.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/on_linux.h"
#include "inspection/testing/registry_fixture.h"
#include "inspection/testing/token_server.h"
#include "kube/base/task_group.h"
#include "kube/client/read_file.h"
#include "kube/crypto/certificates.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/subprocess.h"

namespace inspection {
namespace {

using kube::IsOk;
using kube::KeyPair;
using kube::Result;
using placement::ArchitectureSet;

constexpr int kConcurrency = 3;
constexpr char kUnusedAddress[] = "127.0.0.1:1";  // no registry is there

// One configuration of a node, and the images to inspect with it.
struct NodeSetup {
  std::string name;
  std::string repository;  // as named in pods
  std::string registries_conf;
  std::string drop_in;
  std::map<std::string, std::string> auths;  // key: password of user "u"
  std::map<std::string, std::string>
      files;  // below .config/containers: certs.d/HOST/ca.crt, policy.json
  // The repository for skopeo, if it does not resolve `repository`: aliases are a feature of
  // podman.
  std::string full_name;
  // Every inspection fails, so there are few cases.
  bool refused = false;
  // Tags and digests come from different places: skopeo would look for nested manifests in the
  // wrong one.
  bool split = false;
  // Uses `skopeo copy`, which checks policy.json.
  bool policy = false;

  std::string home;
  std::string auth_file;
  Keyring keyring;
  std::unique_ptr<ImageInspector> inspector;
  int answered = 0;
};

struct Case {
  NodeSetup* setup;
  std::string version;         // ":tag", "@digest" or both
  std::string skopeo_version;  // skopeo accepts no tag with a digest
};

class SkopeoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kSkopeoProgram))
      GTEST_SKIP() << "SKIPPED: " << kSkopeoProgram << " is not installed";
    if (!IsInstalled(RegistryProgram::kDebian))
      GTEST_SKIP() << HowToInstall(RegistryProgram::kDebian);
    root_ = std::string(std::getenv("TEST_TMPDIR")) + "/skopeo";
    std::filesystem::create_directories(root_);
    ca_ = *kube::NewCertificateAuthority("registries", std::chrono::hours(1), kube::RealClock());
    other_ca_ = *kube::NewCertificateAuthority("others", std::chrono::hours(1), kube::RealClock());
    serving_ =
        *kube::NewServingCertificate(ca_, {"127.0.0.1"}, std::chrono::hours(1), kube::RealClock());
    tokens_ = std::make_unique<TokenServer>(io_.get_executor(), serving_, other_ca_);
    std::string storage = root_ + "/storage";
    open_ = Start({.folder = root_ + "/open", .storage = storage});
    password_ = Start({.folder = root_ + "/password",
                       .storage = storage,
                       .certificate = serving_,
                       .password = true});
    token_ = Start({.folder = root_ + "/token",
                    .storage = storage,
                    .certificate = serving_,
                    .token_realm = tokens_->url(),
                    .token_certificate_pem = other_ca_.certificate_pem});
    client_ = NewClientCertificate();
    mutual_ = Start({.folder = root_ + "/mutual",
                     .storage = storage,
                     .certificate = serving_,
                     .client_ca_pem = client_.certificate_pem});
    if (IsInstalled(RegistryProgram::kDistribution)) {
      StartDistribution();
    } else {
      std::cout << HowToInstall(RegistryProgram::kDistribution) << "\n";
    }
    Publish("team/app", {"amd64", "arm64", "s390x", "ppc64le"});
    // A mirror with other images for the same tags: the result shows which one was used.
    Publish("cache/team/app", {"mips64le", "riscv64", "loong64", "386"});
  }

  // With the images of the others: both programs store them alike.
  void StartDistribution() {
    std::string storage = root_ + "/storage";
    constexpr auto kProgram = RegistryProgram::kDistribution;
    open3_ = Start({.program = kProgram, .folder = root_ + "/open3", .storage = storage});
    token3_ = Start({.program = kProgram,
                     .folder = root_ + "/token3",
                     .storage = storage,
                     .certificate = serving_,
                     .token_realm = tokens_->url(),
                     .token_certificate_pem = other_ca_.certificate_pem});
    proxy3_ = Start({.program = kProgram,
                     .folder = root_ + "/proxy3",
                     .storage = root_ + "/proxied",
                     .remote_url = "http://" + open_->host()});
  }

  static std::unique_ptr<DockerRegistry> Start(DockerRegistryOptions options) {
    return std::make_unique<DockerRegistry>(std::move(options));
  }

  // Self-signed. Made with openssl: kube/crypto makes certificates for servers, which are not valid
  // for clients.
  KeyPair NewClientCertificate() const {
    std::string name = root_ + "/client";
    kube::Subprocess openssl(
        "/usr/bin/openssl",
        {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
         "1", "-subj", "/CN=client", "-keyout", name + ".key", "-out", name + ".cert"});
    EXPECT_EQ(openssl.Wait(), 0) << openssl.output();
    return {.certificate_pem = *kube::ReadFile(name + ".cert"),
            .private_key_pem = *kube::ReadFile(name + ".key")};
  }

  // Pushes every kind of image, for these architectures.
  void Publish(const std::string& repository, const std::vector<std::string>& architectures) {
    Publisher publisher(io_, open_->port(), "");
    std::map<std::string, std::string>& digests = digests_[repository];
    auto linux_on = [&](size_t i) { return Platform{"linux", architectures[i]}; };
    digests["oci"] = publisher.PushImage(repository, "oci", linux_on(0), kOciManifest);
    digests["docker"] = publisher.PushImage(repository, "docker", linux_on(1), kDockerManifest);
    digests["latest"] = publisher.PushImage(repository, "latest", linux_on(2), kOciManifest);
    auto entry = [&](const Platform& platform, std::string_view type,
                     const std::string& more = "") {
      return publisher.PushEntry(repository, platform, type, more);
    };
    std::vector<std::string> oci = {entry(linux_on(0), kOciManifest),
                                    entry(linux_on(3), kOciManifest)};
    std::string inner = publisher.PushIndex(repository, "index", oci, kOciIndex);
    digests["index"] = inner;
    digests["list"] = publisher.PushIndex(
        repository, "list",
        {entry(linux_on(1), kDockerManifest), entry(linux_on(2), kDockerManifest)}, kDockerList);
    std::string attestation =
        entry({"unknown", "unknown"}, kOciManifest,
              R"(,"annotations":{"vnd.docker.reference.type":"attestation-manifest"})");
    digests["attested"] = publisher.PushIndex(
        repository, "attested", {entry(linux_on(3), kOciManifest), attestation}, kOciIndex);
    digests["windows"] = publisher.PushIndex(
        repository, "windows",
        {entry({"windows", "amd64"}, kDockerManifest), entry(linux_on(1), kDockerManifest)},
        kDockerList);
    digests["nested"] = publisher.PushIndex(
        repository, "nested",
        {R"({"mediaType":")" + std::string(kOciIndex) + R"(","size":1,"digest":")" + inner + "\"}"},
        kOciIndex);
  }

  static std::string Entry(const std::string& prefix, const std::string& location,
                           const std::string& more = "") {
    return "[[registry]]\nprefix = \"" + prefix + "\"\nlocation = \"" + location + "\"\n" + more;
  }
  static std::string Mirror(const std::string& location, const std::string& more = "") {
    return "[[registry.mirror]]\nlocation = \"" + location + "\"\ninsecure = true\n" + more;
  }
  std::map<std::string, std::string> Trust(const std::string& host) const {
    return {{"certs.d/" + host + "/ca.crt", ca_.certificate_pem}};
  }

  NodeSetup& Add(NodeSetup setup) {
    setups_.push_back(std::make_unique<NodeSetup>(std::move(setup)));
    return *setups_.back();
  }
  void AddSetupsOfRegistriesConf();
  void AddSetupsOfCredentials();
  void AddSetupsOfPolicy();
  void AddSetupsOfDistribution();

  // Writes the home folder of a setup, and configures the inspector with it.
  void Prepare(NodeSetup& setup) {
    setup.home = root_ + "/homes/" + setup.name;
    std::string folder = setup.home + "/.config/containers";
    setup.files["registries.conf"] = setup.registries_conf;
    if (!setup.drop_in.empty()) setup.files["registries.conf.d/50.conf"] = setup.drop_in;
    if (!setup.files.contains("policy.json")) {
      setup.files["policy.json"] = R"({"default":[{"type":"insecureAcceptAnything"}]})";
    }
    std::string auths;
    for (const auto& [key, password] : setup.auths) {
      auths += (auths.empty() ? "\"" : ",\"") + key + R"(":{"auth":")" +
               (password == "secret" ? kRight : kWrong) + "\"}";
    }
    setup.files["auth.json"] = R"({"auths":{)" + auths + "}}";
    setup.auth_file = folder + "/auth.json";
    for (const auto& [name, text] : setup.files) {
      std::string path = folder + "/" + name;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      std::ofstream(path) << text;
    }
    InspectorConfig config;
    NodeFilePaths paths{.registries_conf = folder + "/registries.conf",
                        .certs_dirs = {folder + "/certs.d"},
                        .policy = folder + "/policy.json"};
    ASSERT_THAT(ReadNodeFiles(paths, config), IsOk());
    setup.inspector = NewImageInspector(io_.get_executor(), kube::RealClock());
    ASSERT_THAT(setup.inspector->SetConfig(config), IsOk()) << setup.name;
    ASSERT_THAT(
        setup.keyring.AddSecret("auth.json", kDockerConfigJsonType, setup.files["auth.json"]),
        IsOk());
  }

  // Every tag, some digests, which a mirror may not have, and tag with digest.
  std::vector<Case> CasesOf(NodeSetup& setup) const {
    std::vector<Case> cases;
    const std::map<std::string, std::string>& digests = digests_.at("team/app");
    auto by_digest = [&](const std::string& tag, bool with_tag) {
      std::string digest = "@" + digests.at(tag);
      cases.push_back({&setup, (with_tag ? ":" + tag : "") + digest, digest});
    };
    if (setup.refused) {
      for (const char* tag : {":oci", ":index"}) cases.push_back({&setup, tag, tag});
      by_digest("oci", false);
      return cases;
    }
    if (setup.policy) {
      // The images that `copy` supports.
      for (const char* tag : {":oci", ":docker", ":index"}) cases.push_back({&setup, tag, tag});
      return cases;
    }
    cases.push_back({&setup, "", ":latest"});
    for (const auto& [tag, digest] : digests) {
      if (setup.split && tag == "nested") continue;
      cases.push_back({&setup, ":" + tag, ":" + tag});
    }
    for (const char* tag : {"oci", "index", "docker"}) by_digest(tag, false);
    by_digest("list", true);
    cases.push_back({&setup, ":absent", ":absent"});
    return cases;
  }

  static std::string ToText(const Result<ArchitectureSet>& result) {
    if (!result) return "refused";
    std::string text;
    for (const std::string& architecture : *result)
      text += (text.empty() ? "" : ",") + architecture;
    return text;
  }

  kube::asio::awaitable<void> Compare(std::vector<Case>& cases, size_t& next) {
    while (next < cases.size()) {
      size_t index = next++;
      Case one = cases[index];
      NodeSetup& setup = *one.setup;
      Skopeo skopeo(setup.home, setup.auth_file);
      std::string name =
          (setup.full_name.empty() ? setup.repository : setup.full_name) + one.skopeo_version;
      Result<ArchitectureSet> wanted = co_await skopeo.Architectures(name);
      if (setup.policy) {
        std::string scratch = root_ + "/copy" + std::to_string(index);
        Result<void> copied = co_await skopeo.Copy(name, std::move(scratch));
        if (!copied) wanted = copied.error();
      }
      ImageRequest request{.image = setup.repository + one.version,
                           .keyring = std::make_shared<const Keyring>(setup.keyring)};
      Result<Inspected> inspected = co_await setup.inspector->Inspect(request);
      Result<ArchitectureSet> got = OnLinux(inspected);
      EXPECT_EQ(ToText(got), ToText(wanted)) << setup.name << " " << request.image << "\n"
                                             << (got ? "" : got.error().ToString()) << "\n"
                                             << setup.registries_conf << setup.drop_in;
      setup.answered += wanted ? 1 : 0;
      ++compared_;
    }
  }

  // "u:secret" and "u:guess".
  static constexpr char kRight[] = "dTpzZWNyZXQ=";
  static constexpr char kWrong[] = "dTpndWVzcw==";

  kube::asio::io_context io_;
  std::string root_;
  KeyPair ca_, other_ca_, serving_, client_;
  std::unique_ptr<TokenServer> tokens_;
  std::unique_ptr<DockerRegistry> open_, password_, token_, mutual_;
  std::unique_ptr<DockerRegistry> open3_, token3_, proxy3_;  // distribution 3, if it is installed
  std::map<std::string, std::map<std::string, std::string>> digests_;
  std::vector<std::unique_ptr<NodeSetup>> setups_;
  size_t compared_ = 0;
};

void SkopeoTest::AddSetupsOfRegistriesConf() {
  const std::string open = open_->host();
  const std::string cache = open + "/cache";
  const std::string quay = "quay.test/team/app";
  const std::string insecure = "insecure = true\n";
  Add({.name = "insecure",
       .repository = open + "/team/app",
       .registries_conf = InsecureRegistriesConf(open)});
  Add({.name = "not-insecure", .repository = open + "/team/app", .refused = true});
  Add({.name = "location",
       .repository = quay,
       .registries_conf = Entry("quay.test", open, insecure)});
  Add({.name = "location-with-path",
       .repository = quay,
       .registries_conf = Entry("quay.test/team", cache + "/team", insecure)});
  Add({.name = "longest-prefix",
       .repository = quay,
       .registries_conf = Entry("quay.test", kUnusedAddress) +
                          Entry("quay.test/team", open + "/team", insecure) +
                          Entry("quay.test/te", kUnusedAddress)});
  Add({.name = "prefix-of-one-image",
       .repository = quay,
       .registries_conf =
           Entry("quay.test", open, insecure) + Entry(quay, cache + "/team/app", insecure)});
  Add({.name = "wildcard",
       .repository = "a.b.example.test/team/app",
       .registries_conf = Entry("*.example.test", open, insecure)});
  Add({.name = "wildcard-of-another",
       .repository = "example.test/team/app",
       .registries_conf = Entry("*.example.test", open, insecure),
       .refused = true});
  Add({.name = "mirror",
       .repository = quay,
       .registries_conf = Entry("quay.test", open, insecure) + Mirror(cache)});
  Add({.name = "mirror-down",
       .repository = quay,
       .registries_conf = Entry("quay.test", open, insecure) + Mirror(kUnusedAddress)});
  Add({.name = "second-mirror",
       .repository = quay,
       .registries_conf =
           Entry("quay.test", open, insecure) + Mirror(kUnusedAddress) + Mirror(cache)});
  Add({.name = "mirror-for-digests",
       .repository = quay,
       .registries_conf = Entry("quay.test", open, insecure) +
                          Mirror(cache, "pull-from-mirror = \"digest-only\"\n")});
  Add({.name = "mirror-for-tags",
       .repository = quay,
       .registries_conf =
           Entry("quay.test", open, insecure) + Mirror(cache, "pull-from-mirror = \"tag-only\"\n"),
       .split = true});
  Add({.name = "mirror-by-digest-only",
       .repository = quay,
       .registries_conf =
           Entry("quay.test", open, insecure + "mirror-by-digest-only = true\n") + Mirror(cache)});
  Add({.name = "blocked",
       .repository = open + "/team/app",
       .registries_conf = InsecureRegistriesConf(open) + "blocked = true\n",
       .refused = true});
  // The location is blocked, not its mirrors.
  Add({.name = "blocked-with-mirror",
       .repository = open + "/team/app",
       .registries_conf =
           InsecureRegistriesConf(open) + "blocked = true\n" + Mirror(password_->host()),
       .auths = {{password_->host(), "secret"}}});
  Add({.name = "blocked-and-moved",
       .repository = quay,
       .registries_conf =
           Entry("quay.test", open, insecure + "blocked = true\n") + Mirror(kUnusedAddress)});
  Add({.name = "blocked-mirror",
       .repository = quay,
       .registries_conf = Entry("quay.test", open, insecure) + Mirror(cache) +
                          Entry(cache, cache, insecure + "blocked = true\n")});
  Add({.name = "drop-in",
       .repository = quay,
       .registries_conf = Entry("quay.test", kUnusedAddress),
       .drop_in = Entry("quay.test", open, insecure)});
  Add({.name = "drop-in-blocks",
       .repository = quay,
       .registries_conf = Entry("quay.test", open, insecure),
       .drop_in = Entry("quay.test", open, "blocked = true\n"),
       .refused = true});
  Add({.name = "alias",
       .repository = "app",
       .registries_conf = InsecureRegistriesConf(open),
       .drop_in = "[aliases]\napp = \"" + open + "/team/app\"\n",
       .full_name = open + "/team/app"});
  Add({.name = "search",
       .repository = "team/app",
       .registries_conf =
           "unqualified-search-registries = [\"" + open + "\"]\n" + InsecureRegistriesConf(open),
       .full_name = open + "/team/app"});
}

void SkopeoTest::AddSetupsOfCredentials() {
  for (const auto& [name, registry] :
       {std::pair("password", password_.get()), std::pair("token", token_.get())}) {
    std::string host = registry->host();
    std::string image = host + "/team/app";
    std::string about = name;
    Add({.name = about + "-right",
         .repository = image,
         .auths = {{host, "secret"}},
         .files = Trust(host)});
    Add({.name = about + "-wrong",
         .repository = image,
         .auths = {{host, "guess"}},
         .files = Trust(host),
         .refused = true});
    Add({.name = about + "-none", .repository = image, .files = Trust(host), .refused = true});
    Add({.name = about + "-of-another",
         .repository = image,
         .auths = {{"other.test", "secret"}},
         .files = Trust(host),
         .refused = true});
    Add({.name = about + "-of-path",
         .repository = image,
         .auths = {{host, "guess"}, {host + "/team", "secret"}, {host + "/other", "guess"}},
         .files = Trust(host)});
    Add({.name = about + "-unknown-authority",
         .repository = image,
         .auths = {{host, "secret"}},
         .refused = true});
    Add({.name = about + "-other-authority",
         .repository = image,
         .auths = {{host, "secret"}},
         .files = {{"certs.d/" + host + "/ca.crt", other_ca_.certificate_pem}},
         .refused = true});
    Add({.name = about + "-insecure",
         .repository = image,
         .registries_conf = InsecureRegistriesConf(host),
         .auths = {{host, "secret"}}});
    Add({.name = about + "-mirror",
         .repository = "quay.test/team/app",
         .registries_conf = Entry("quay.test", kUnusedAddress) +
                            "[[registry.mirror]]\nlocation = \"" + host + "\"\n",
         .auths = {{host, "secret"}, {"quay.test", "guess"}},
         .files = Trust(host)});
  }
  std::string host = mutual_->host();
  Add({.name = "no-client-certificate",
       .repository = host + "/team/app",
       .files = Trust(host),
       .refused = true});
  NodeSetup& both =
      Add({.name = "client-certificate", .repository = host + "/team/app", .files = Trust(host)});
  both.files["certs.d/" + host + "/client.cert"] = client_.certificate_pem;
  both.files["certs.d/" + host + "/client.key"] = client_.private_key_pem;
  NodeSetup& half = Add(
      {.name = "no-key", .repository = host + "/team/app", .files = Trust(host), .refused = true});
  half.files["certs.d/" + host + "/client.cert"] = client_.certificate_pem;
}

void SkopeoTest::AddSetupsOfPolicy() {
  const std::string host = open_->host();
  const std::string reject = R"({"default":[{"type":"reject"}],"transports":{"docker":{)";
  const std::string accept =
      R"({"default":[{"type":"insecureAcceptAnything"}],"transports":{"docker":{)";
  auto add = [&](const std::string& name, const std::string& policy, bool refused) {
    Add({.name = "policy-" + name,
         .repository = host + "/team/app",
         .registries_conf = InsecureRegistriesConf(host),
         .files = {{"policy.json", policy + "}}}"}},
         .refused = refused,
         .policy = true});
  };
  const std::string yes = R"(":[{"type":"insecureAcceptAnything"}])";
  const std::string no = R"(":[{"type":"reject"}])";
  add("rejects", reject, true);
  add("rejects-repository", accept + '"' + host + "/team/app" + no, true);
  add("rejects-host", accept + '"' + host + no, true);
  add("rejects-all-but-team", reject + '"' + host + "/team" + yes, false);
  add("longest-scope", reject + '"' + host + yes + ",\"" + host + "/team" + no, true);
  add("wants-signatures",
      accept + '"' + host + R"(":[{"type":"signedBy","keyType":"GPGKeys","keyData":"AAAA"}])",
      true);
}

void SkopeoTest::AddSetupsOfDistribution() {
  if (!open3_) return;
  for (const auto& [name, registry] :
       {std::pair("open3", open3_.get()), std::pair("proxy3", proxy3_.get())}) {
    Add({.name = name,
         .repository = registry->host() + "/team/app",
         .registries_conf = InsecureRegistriesConf(registry->host())});
  }
  Add({.name = "proxy3-mirror",
       .repository = "quay.test/team/app",
       .registries_conf = Entry("quay.test", kUnusedAddress) + Mirror(proxy3_->host())});
  std::string host = token3_->host();
  Add({.name = "token3-right",
       .repository = host + "/team/app",
       .auths = {{host, "secret"}},
       .files = Trust(host)});
  Add({.name = "token3-wrong",
       .repository = host + "/team/app",
       .auths = {{host, "guess"}},
       .files = Trust(host),
       .refused = true});
}

TEST_F(SkopeoTest, BothFindTheSameArchitectures) {
  AddSetupsOfRegistriesConf();
  AddSetupsOfCredentials();
  AddSetupsOfPolicy();
  AddSetupsOfDistribution();
  std::vector<Case> cases;
  for (auto& setup : setups_) {
    Prepare(*setup);
    for (Case& one : CasesOf(*setup)) cases.push_back(std::move(one));
  }
  EXPECT_GE(cases.size(), 200u);

  kube::TaskGroup tasks(io_.get_executor());
  size_t next = 0;
  for (int i = 0; i < kConcurrency; ++i) tasks.Spawn("compare", Compare(cases, next));
  while (compared_ < cases.size()) {
    size_t before = compared_;
    ASSERT_TRUE(kube::RunUntil(io_, [&] { return compared_ > before; }))
        << "stuck after " << before << " cases";
  }
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return tasks.size() == 0; }));
  for (auto& setup : setups_)
    EXPECT_EQ(setup->refused, setup->answered == 0) << setup->name << ": refused is wrong";
  RecordProperty("cases", static_cast<int>(cases.size()));
  std::cout << cases.size() << " cases, " << setups_.size() << " configurations\n";
}

// A difference by design, see inspection/README.md.
TEST_F(SkopeoTest, ABundleIsForEveryArchitectureOnlyForTheInspector) {
  Publisher publisher(io_, open_->port(), "");
  publisher.PushImage("bundle", "1", {"linux", "amd64"}, kOciManifest,
                      R"({"operators.operatorframework.io.bundle.mediatype.v1":"registry+v1"})");
  NodeSetup& setup = Add({.name = "bundle",
                          .repository = open_->host() + "/bundle",
                          .registries_conf = InsecureRegistriesConf(open_->host())});
  Prepare(setup);
  Skopeo skopeo(setup.home, setup.auth_file);
  EXPECT_EQ(ToText(kube::Run(io_, skopeo.Architectures(setup.repository + ":1"))), "amd64");
  ImageRequest request{.image = setup.repository + ":1"};
  EXPECT_EQ(*OnLinux(kube::Run(io_, setup.inspector->Inspect(request))),
            placement::AllArchitectures());
}

// From a fake registry, as Debian's does not accept such images; see inspection/README.md.
TEST_F(SkopeoTest, Schema1IsRefusedOnlyByTheInspector) {
  FakeRegistry registry(io_.get_executor(), {});
  NodeSetup& setup = Add({.name = "schema1",
                          .repository = registry.host() + "/old",
                          .registries_conf = InsecureRegistriesConf(registry.host())});
  Prepare(setup);
  Skopeo skopeo(setup.home, setup.auth_file);
  std::string layer =
      R"({\"id\":\")" + std::string(64, 'b') +
      R"(\",\"os\":\"linux\",\"architecture\":\"arm64\",\"created\":\"2016-01-01T00:00:00Z\"})";
  std::string manifest =
      R"({"schemaVersion":1,"name":"old","tag":"1","architecture":"arm64","fsLayers":[{"blobSum":")" +
      ("sha256:" + std::string(64, 'a')) + R"("}],"history":[{"v1Compatibility":")" + layer +
      "\"}]}";
  registry.PutManifest("old", "1", manifest,
                       "application/vnd.docker.distribution.manifest.v1+json");
  EXPECT_EQ(ToText(kube::Run(io_, skopeo.Architectures(setup.repository + ":1"))), "arm64");
  ImageRequest request{.image = setup.repository + ":1"};
  EXPECT_THAT(
      kube::Run(io_, setup.inspector->Inspect(request)),
      kube::FailsWith(kube::Code::kInvalid, ::testing::HasSubstr("unsupported manifest type")));
}

}  // namespace
}  // namespace inspection
