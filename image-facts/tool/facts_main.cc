// SPDX-License-Identifier: Apache-2.0
// bazel run //image-facts:facts -- show IMAGE|export|import [flags]
//
//   show IMAGE   what is known of an image, and whether it counts for a new pod
//   export       prints what registries tell everybody, signed with --key
//   import       adds such a file from standard input, if it is signed with --public-key
//
// The kubeconfig's user needs the rights to list, create and update ImageFacts.
#include <gflags/gflags.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/version.h"
#include "deploy/tool.h"
#include "image-facts/tool/commands.h"
#include "kube/base/app.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/read_file.h"

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; empty: $KUBECONFIG, else ~/.kube/config.");
DEFINE_string(context, "", "Context in the kubeconfig file; empty: its current context.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace), "The operator's namespace.");
DEFINE_string(key, "", "For export: the file with the private key, Ed25519 in PEM.");
DEFINE_string(public_key, "", "For import: the file with the public key, Ed25519 in PEM.");

namespace image_facts {
namespace {

using kube::Async;
using kube::Result;

Async<std::string> RunCommand(kube::App& app, kube::Client& client, std::string command,
                              std::string image) {
  Result<std::string> output =
      kube::Error::Invalid("the first argument is show IMAGE, export or import");
  if (command == "show")
    output = co_await Show(client, app.clock(), FLAGS_namespace, std::move(image));
  if (command == "export") {
    Result<std::string> key = kube::ReadFile(FLAGS_key);
    if (!key) co_return key.error().Prefix("--key");
    output = co_await Export(client, FLAGS_namespace, std::move(*key));
  }
  if (command == "import") {
    Result<std::string> key = kube::ReadFile(FLAGS_public_key);
    if (!key) co_return key.error().Prefix("--public-key");
    std::string file{std::istreambuf_iterator<char>(std::cin), {}};
    output =
        co_await Import(client, app.clock(), FLAGS_namespace, std::move(file), std::move(*key));
  }
  co_return output;
}

Async<> Main(kube::App& app, std::string command, std::string image) {
  Result<kube::ClientConfig> config =
      kube::LoadKubeconfig(deploy::KubeconfigPath(FLAGS_kubeconfig), FLAGS_context);
  if (!config) co_return config.error();
  Result<std::unique_ptr<kube::Client>> client = deploy::NewToolClient(app, std::move(*config));
  if (!client) co_return client.error();
  Result<std::string> output =
      co_await RunCommand(app, **client, std::move(command), std::move(image));
  if (!output) co_return output.error();
  std::cout << *output << std::flush;
  co_return kube::Ok();
}

}  // namespace
}  // namespace image_facts

int main(int argc, char** argv) {
  // The command comes first, and the image if it has one; then flags.
  std::vector<std::string> words;
  while (argc > 1 && argv[1][0] != '-') {
    words.emplace_back(argv[1]);
    for (int i = 1; i + 1 < argc; ++i) argv[i] = argv[i + 1];
    argv[--argc] = nullptr;
  }
  words.resize(2);
  kube::AppOptions options{.name = "facts",
                           .summary =
                               "facts show IMAGE|export|import [flags]: what is known of "
                               "images in a cluster.",
                           .version = api::kVersion,
                           .argc = argc,
                           .argv = argv,
                           .interactive = true};
  return kube::RunApp(
      options, [words](kube::App& app) { return image_facts::Main(app, words[0], words[1]); });
}
