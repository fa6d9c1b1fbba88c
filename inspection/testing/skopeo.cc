// SPDX-License-Identifier: Apache-2.0
#include "inspection/testing/skopeo.h"

#include "inspection/base/manifest.h"
#include "kube/client/command.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;
using kube::StringAt;
using placement::ArchitectureSet;

}  // namespace

Async<std::string> Skopeo::Run(std::vector<std::string> arguments) const {
  // Its messages are not needed.
  kube::Command command{.argv = {"/bin/sh", "-c", "exec \"$@\" 2>/dev/null", "sh", kSkopeoProgram},
                        .env = {{"HOME", home_}, {"REGISTRY_AUTH_FILE", auth_file_}},
                        .timeout = std::chrono::milliseconds(60'000)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  Result<std::string> output = co_await kube::RunCommand(std::move(command));
  co_return output;
}

Async<ArchitectureSet> Skopeo::Architectures(std::string name) const {
  std::vector<std::string> raw = {"inspect", "--raw", "docker://" + name};
  Result<std::string> text = co_await Run(raw);
  if (!text) co_return text.error();
  Result<Json> manifest = kube::ParseJson(*text);
  if (!manifest) co_return manifest.error();

  ArchitectureSet architectures;
  const Json* entries = kube::Find(*manifest, "manifests");
  if (entries == nullptr) {
    // Schema 1 has no config: skopeo makes one from the layers.
    std::vector<std::string> config = {"inspect", "--config", "docker://" + name};
    if (kube::IntAt(*manifest, "schemaVersion", 2) != 1) config.insert(config.begin() + 2, "--raw");
    text = co_await Run(config);
    if (!text) co_return text.error();
    Result<Json> image = kube::ParseJson(*text);
    if (!image) co_return image.error();
    if (StringAt(*image, "os", "linux") == "linux")
      architectures.insert(StringAt(*image, "architecture"));
    co_return architectures;
  }
  std::string repository = name.substr(0, name.find('@'));
  size_t colon = repository.rfind(':');
  if (colon != std::string::npos && colon > repository.rfind('/')) repository.resize(colon);
  for (const Json& entry : *entries) {
    std::string type = StringAt(entry, "mediaType");
    if (type == kOciIndex || type == kDockerList) {
      std::string inner = repository + "@" + StringAt(entry, "digest");
      Result<ArchitectureSet> nested = co_await Architectures(inner);
      if (!nested) co_return nested.error();
      architectures.insert(nested->begin(), nested->end());
    } else if (StringAt(entry, "platform.os") == "linux") {
      architectures.insert(StringAt(entry, "platform.architecture"));
    }
  }
  co_return architectures;
}

Async<> Skopeo::Copy(std::string name, std::string scratch) const {
  std::vector<std::string> copy = {"copy", "--all", "docker://" + name, "dir:" + scratch};
  Result<std::string> output = co_await Run(copy);
  if (!output) co_return output.error();
  co_return kube::Ok();
}

}  // namespace inspection
