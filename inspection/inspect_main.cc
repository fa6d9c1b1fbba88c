// SPDX-License-Identifier: Apache-2.0
// inspect: prints the architectures that an image can run on, and on standard error each request
// and the reason for each mirror and credential.
//
//   bazel run //inspection:inspect -- quay.io/team/app:1 --authfile=$HOME/.docker/config.json
#include <gflags/gflags.h>

#include <iostream>

#include "api/version.h"
#include "inspection/config/node_file_flags.h"
#include "inspection/inspector.h"
#include "kube/base/app.h"
#include "kube/client/read_file.h"

DEFINE_string(os, "linux", "Operating system that the image must run on.");
DEFINE_string(authfile, "", "File with credentials: docker's config.json, or podman's auth.json.");
DEFINE_string(ca_file, "", "File with certificates to trust in addition to the system's, PEM.");

namespace inspection {
namespace {

using kube::App;
using kube::Async;
using kube::Result;

Async<> Inspect(App& app, std::string image) {
  InspectorConfig config;
  ImageRequest request{.image = std::move(image)};
  NodeFilePaths paths = NodeFilesFromFlags();
  // These files are optional on a node, but not if a flag names them.
  for (const std::string& path :
       {paths.registries_conf, paths.policy, paths.credential_provider_config}) {
    if (path.empty()) continue;
    Result<std::string> text = kube::ReadFile(path);
    if (!text) co_return text.error();
  }
  Result<void> files = ReadNodeFiles(paths, config);
  if (!files) co_return files.error();
  if (!FLAGS_ca_file.empty()) {
    Result<std::string> bundle = kube::ReadFile(FLAGS_ca_file);
    if (!bundle) co_return bundle.error();
    config.ca_bundle_pem = std::move(*bundle);
  }
  if (!FLAGS_authfile.empty()) {
    Result<std::string> auth = kube::ReadFile(FLAGS_authfile);
    if (!auth) co_return auth.error();
    Keyring keyring;
    Result<void> added = keyring.AddSecret(FLAGS_authfile, kDockerConfigJsonType, *auth);
    if (!added) co_return added.error();
    request.keyring = std::make_shared<const Keyring>(std::move(keyring));
  }

  InspectorOptions options;
  options.trace = [](const std::string& line) { std::cerr << line << '\n'; };
  std::unique_ptr<ImageInspector> inspector =
      NewImageInspector(app.executor(), app.clock(), options);
  Result<void> set = inspector->SetConfig(std::move(config));
  if (!set) co_return set.error();
  Result<Inspected> inspected = co_await inspector->Inspect(std::move(request));
  if (!inspected) co_return inspected.error();
  for (const std::string& architecture : placement::Common({&inspected->platforms, 1}).On(FLAGS_os))
    std::cout << architecture << '\n';
  co_return kube::Ok();
}

}  // namespace
}  // namespace inspection

int main(int argc, char** argv) {
  // The image comes first, then flags.
  std::string image;
  if (argc > 1 && argv[1][0] != '-') {
    image = argv[1];
    for (int i = 1; i + 1 < argc; ++i) argv[i] = argv[i + 1];
    argv[--argc] = nullptr;
  }
  kube::AppOptions options{
      .name = "inspect",
      .summary = "inspect IMAGE [flags]: prints the architectures that an image can run on.",
      .version = api::kVersion,
      .argc = argc,
      .argv = argv};
  return kube::RunApp(options, [image](kube::App& app) { return inspection::Inspect(app, image); });
}
