// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/program_reader.h"

#include <chrono>
#include <string>
#include <utility>

#include "exec-format/entrypoint/image_files.h"

namespace plugin {
namespace {

// Of one image of an index.
constexpr std::chrono::minutes kTimeout{1};

}  // namespace

kube::Async<> ReadPrograms(inspection::RegistryClient& client,
                           const inspection::Repository& repository, kube::Clock& clock,
                           std::vector<ImageVariant>& variants) {
  for (ImageVariant& variant : variants) {
    const Promise promise = PromiseOfPlatform(variant.platform);
    // An only image, whose config says the platform, may be for linux.
    if (!promise.os.empty() && promise.os != "linux") continue;
    std::string digest = variant.digest;
    exec_format::WantedPlatform platform;
    exec_format::FileQuestion question;
    const exec_format::ImageFileLimits limits;
    auto file = co_await exec_format::ReadImageFile(client, repository, std::move(digest),
                                                    std::move(platform), std::move(question),
                                                    limits, clock.Now() + kTimeout);
    if (kube::FailedWith(file, kube::Code::kCancelled)) co_return file.error();
    VariantProgram program;
    if (file) {
      program.file = std::move(*file);
    } else {
      program.error = file.error().message();
    }
    variant.program = std::move(program);
  }
  co_return kube::Ok();
}

}  // namespace plugin
