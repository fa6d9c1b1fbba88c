// SPDX-License-Identifier: Apache-2.0
#include "plugin/commands/inspect.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/client/typed.h"
#include "kube/types/core.pb.h"
#include "placement/images.h"
#include "plugin/command/formats.h"
#include "plugin/inspect/image_asker.h"
#include "plugin/inspect/program_reader.h"
#include "plugin/inspect/registry_access.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/text/printable.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;

struct Asked {
  std::vector<std::string> images;
  std::string pod;  // NAME or NAMESPACE/NAME
  LocalFiles files;
  bool verbose = false;
  bool deep = false;
};

// Adds the images of the pod to the questions, if no image was named.
Async<RegistryAccess> AccessAsPod(Tool& tool, const std::string& name,
                                  std::vector<ImageAsker::Question>& questions) {
  Result<kube::Client*> client = tool.Connect();
  if (!client) co_return client.error();
  const size_t slash = name.find('/');
  kube::ObjectKey key{tool.ns(), name};
  if (slash != std::string::npos) key = {name.substr(0, slash), name.substr(slash + 1)};
  Result<kube::core::Pod> pod = co_await kube::Get<kube::core::Pod>(**client, std::move(key));
  if (!pod) co_return pod.error();
  if (questions.empty()) {
    for (placement::ContainerImage& image : placement::ImagesOf(*pod))
      questions.push_back({.image = std::move(image.reference), .only_volume = image.only_volume});
  }
  std::string operator_namespace = tool.operator_namespace();
  auto cluster = co_await AccessOfCluster(**client, tool.clock(), std::move(operator_namespace));
  if (!cluster) co_return cluster.error();
  RegistryAccess access{.config = cluster->config, .keyring = {}, .unread = cluster->unread};
  auto keyring = co_await KeyringOf(**client, tool.clock(), *pod, *cluster, access.unread);
  if (!keyring) co_return keyring.error();
  access.keyring = std::move(*keyring);
  co_return access;
}

std::string SayAll(const std::vector<ImageDetails>& images, const std::vector<Unread>& unread,
                   Style style) {
  std::string text;
  for (const ImageDetails& details : images)
    text += (text.empty() ? "" : "\n") + Say(details, style);
  return text + Say(unread, style);
}

Json AllAsJson(const std::vector<ImageDetails>& images, const std::vector<Unread>& unread) {
  Json answer = {{"images", Json::array()}, {"unread", AsJson(unread)}};
  for (const ImageDetails& details : images) answer["images"].push_back(AsJson(details));
  return answer;
}

Async<ExitCode> Inspect(Tool& tool, const Asked& asked) {
  std::vector<ImageAsker::Question> questions;
  for (const std::string& image : asked.images) questions.push_back({.image = image});
  if (questions.empty() && asked.pod.empty())
    co_return Error::Invalid("name an image, or a pod with --as-pod");
  Result<RegistryAccess> access = RegistryAccess();
  if (asked.pod.empty()) {
    access = AccessOfThisMachine(asked.files);
  } else {
    access = co_await AccessAsPod(tool, asked.pod, questions);
  }
  if (!access) co_return access.error();

  std::function<void(const std::string&)> trace;
  if (asked.verbose) trace = [](const std::string& line) { std::cerr << Printable(line) << '\n'; };
  ImageAsker asker(tool.executor(), tool.clock(), std::move(trace));
  Result<> used = asker.Use(std::move(access->config));
  if (!used) co_return used.error();
  std::vector<ImageDetails> images;
  for (ImageAsker::Question& question : questions) {
    question.keyring = access->keyring;
    question.sizes = true;
    if (asked.deep) question.read_more = ReadPrograms;
    Result<ImageDetails> details = co_await asker.Ask(std::move(question));
    if (!details) co_return details.error();
    images.push_back(std::move(*details));
  }
  tool.Answer([&](Style style) { return SayAll(images, access->unread, style); },
              [&] { return AllAsJson(images, access->unread); });
  for (const ImageDetails& details : images) {
    if (!details.error.empty()) co_return kIncomplete;
  }
  for (const ImageDetails& details : images) {
    for (const ImageVariant& variant : details.variants) {
      if (variant.program && NeverStarts(*variant.program, PromiseOfPlatform(variant.platform)))
        co_return kNotPlaced;
    }
  }
  co_return kSuccess;
}

}  // namespace

void AddInspect(CLI::App& app, Chosen& chosen) {
  auto asked = std::make_shared<Asked>();
  CLI::App* inspect = app.add_subcommand(
      "inspect", "Asks registries for which platforms images are, as the operator does");
  inspect->add_option("IMAGE", asked->images, "Names of images, as in pods");
  inspect
      ->add_option("--as-pod", asked->pod,
                   "Use the pull secrets of this pod and the configuration of the cluster; without "
                   "IMAGE, all images of the pod")
      ->option_text("[NAMESPACE/]NAME");
  auto file = [&](const char* flag, std::string& path, const char* help) {
    inspect->add_option(flag, path, help)->option_text("FILE");
  };
  file("--authfile", asked->files.authfile,
       "Credentials, as docker's config.json; default: $REGISTRY_AUTH_FILE, docker's own");
  file("--ca-file", asked->files.ca_file, "Certificates to trust besides the system's, PEM");
  file("--registries-conf", asked->files.node.registries_conf,
       "registries.conf with its drop-ins in FILE.d: mirrors, blocked registries");
  file("--policy", asked->files.node.policy, "policy.json of containers/image");
  inspect->add_option("--certs-dir", asked->files.node.certs_dirs, "Like /etc/containers/certs.d")
      ->option_text("FOLDER");
  inspect
      ->add_option("--containerd-certs-dir", asked->files.node.containerd_certs_dir,
                   "Like /etc/containerd/certs.d, with hosts.toml")
      ->option_text("FOLDER");
  inspect->add_flag("--deep", asked->deep,
                    "Read from the layers for which machine each image's program is: megabytes");
  inspect->add_flag("-v,--verbose", asked->verbose, "Write each request to standard error");
  AddFormats(*inspect, {"json", "yaml"}, chosen);
  inspect->callback(
      [asked, &chosen] { chosen.run = [asked](Tool& tool) { return Inspect(tool, *asked); }; });
}

}  // namespace plugin
