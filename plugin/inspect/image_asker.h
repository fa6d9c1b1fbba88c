// SPDX-License-Identifier: Apache-2.0
// ImageAsker: asks registries about images, as the cluster controller does, with more details.
// Thread: the executor's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "inspection/config/credentials.h"
#include "inspection/config/inspector_config.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "plugin/inspect/image_details.h"

namespace plugin {

class ImageAsker {
 public:
  // `trace`: called with a line for each request; may be empty.
  ImageAsker(kube::Executor executor, kube::Clock& clock,
             std::function<void(const std::string&)> trace);

  // Errors: kInvalid says what does not parse.
  kube::Result<> Use(inspection::InspectorConfig config);

  // Errors: kCancelled.
  using ReadMoreOf = std::function<kube::Async<>(
      inspection::RegistryClient& client, const inspection::Repository& repository,
      kube::Clock& clock, std::vector<ImageVariant>& variants)>;

  struct Question {
    std::string image;
    bool only_volume = false;
    inspection::SharedKeyring keyring = {};
    // Also the size of each platform: a request more for each.
    bool sizes = false;
    // Also the tags of its repository.
    bool tags = false;
    // Called with the variants that `sizes` finds, to read more of them; may be empty. A function
    // of the caller, so that only a program that reads layers has the code for it.
    ReadMoreOf read_more = {};
  };
  // A failure is ImageDetails::error. Errors: kCancelled.
  kube::Async<ImageDetails> Ask(Question question);

 private:
  void Trace(const std::string& line);
  kube::Async<> ReadMore(inspection::RegistryClient& client,
                         const inspection::Repository& repository, std::string digest);

  std::function<void(const std::string&)> trace_;
  // Of the call of Ask() in progress: there is one at a time.
  ImageDetails asked_;
  bool sizes_ = false, tags_ = false;
  ReadMoreOf read_more_;
  kube::Clock& clock_;
  std::unique_ptr<inspection::ImageInspector> inspector_;
};

}  // namespace plugin
