// SPDX-License-Identifier: Apache-2.0
// inspect: prints the architectures that an image can run on, and on standard error how that was found out: each
// request, and why a mirror or a credential was taken.
//
//   bazel run //inspection:inspect -- quay.io/team/app:1 --authfile=$HOME/.docker/config.json
#include <gflags/gflags.h>

#include <iostream>
#include <sstream>
#include <vector>

#include "api/version.h"
#include "inspection/inspector.h"
#include "kube/base/app.h"
#include "kube/client/read_file.h"

DEFINE_string(os, "linux", "Operating system that the image is to run on.");
DEFINE_string(registries_conf, "", "File with mirrors, insecure and blocked registries: registries.conf, version 2.");
DEFINE_string(authfile, "", "File with credentials: docker's config.json, or podman's auth.json.");
DEFINE_string(ca_file, "", "File with certificates to trust beside the system's, PEM.");
DEFINE_string(certs_dir, "", "Folders like /etc/containers/certs.d, parted by commas; the first with a registry counts.");
DEFINE_string(policy, "", "File with a policy.json.");

namespace inspection {
namespace {

using kube::App;
using kube::Async;
using kube::Result;

// "" for no path.
Result<std::string> ReadFile(const std::string& path) {
  if (path.empty()) return std::string();
  return kube::ReadFile(path);
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Async<> Inspect(App& app, std::string image) {
  InspectorConfig config;
  ImageRequest request{.image = std::move(image), .os = FLAGS_os};
  std::string auth;
  struct Input {
    const std::string& path;
    std::string& content;
  };
  std::vector<Input> inputs{{FLAGS_registries_conf, config.registries_conf},
                            {FLAGS_ca_file, config.ca_bundle_pem},
                            {FLAGS_policy, config.policy_json},
                            {FLAGS_authfile, auth}};
  for (Input& input : inputs) {
    Result<std::string> content = ReadFile(input.path);
    if (!content) co_return content.error();
    input.content = std::move(*content);
  }
  Result<HostCertificates> certificates = ReadCertsDirectories(SplitAtCommas(FLAGS_certs_dir));
  if (!certificates) co_return certificates.error();
  config.certificates = std::move(*certificates);
  if (!auth.empty()) {
    Result<void> added = request.keyring.AddSecret(FLAGS_authfile, kDockerConfigJsonType, auth);
    if (!added) co_return added.error();
  }

  InspectorOptions options;
  options.trace = [](const std::string& line) { std::cerr << line << '\n'; };
  std::unique_ptr<ImageInspector> inspector = NewImageInspector(app.executor(), app.clock(), options);
  Result<void> set = inspector->SetConfig(std::move(config));
  if (!set) co_return set.error();
  Result<placement::ArchitectureSet> architectures = co_await inspector->Architectures(std::move(request));
  if (!architectures) co_return architectures.error();
  for (const std::string& architecture : *architectures) std::cout << architecture << '\n';
  co_return kube::Ok();
}

}  // namespace
}  // namespace inspection

int main(int argc, char** argv) {
  // The image comes first; what is left are flags.
  std::string image;
  if (argc > 1 && argv[1][0] != '-') {
    image = argv[1];
    for (int i = 1; i + 1 < argc; ++i) argv[i] = argv[i + 1];
    argv[--argc] = nullptr;
  }
  kube::AppOptions options{.name = "inspect",
                           .summary = "inspect IMAGE [flags]: prints the architectures that an image can run on.",
                           .version = api::kVersion,
                           .argc = argc,
                           .argv = argv};
  return kube::RunApp(options, [image](kube::App& app) { return inspection::Inspect(app, image); });
}
