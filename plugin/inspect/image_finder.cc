// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/image_finder.h"

#include <utility>

#include "inspection/base/reference.h"
#include "placement/images.h"
#include "plugin/inspect/newer_tags.h"

namespace plugin {

using kube::Async;
using kube::Result;

ImageFinder::ImageFinder(kube::Client& client, kube::Executor executor, kube::Clock& clock,
                         ImageFinderOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      asker_(std::move(executor), clock, /*trace=*/{}) {}

Async<std::vector<PodImage>> ImageFinder::Find(const kube::core::Pod& pod,
                                               const KnownImages& known) {
  std::vector<PodImage> images;
  for (const placement::ContainerImage& image : placement::ImagesOf(pod)) {
    if (std::optional<KnownImages::Fact> fact = known.Find(image.reference, pod)) {
      images.push_back({image.reference, fact->platforms, "the cluster knows it"});
    } else if (!options_.asks_registries) {
      images.push_back({image.reference, nullptr, "the cluster does not know it"});
    } else {
      std::string name = image.reference;
      Result<PodImage> found = co_await Ask(pod, std::move(name), image.only_volume);
      if (!found) co_return found.error();
      images.push_back(std::move(*found));
    }
    known.Judge(images.back(), pod.metadata().namespace_());
  }
  co_return images;
}

Async<std::string> ImageFinder::Prepare(const kube::core::Pod& pod) {
  if (!cluster_) {
    std::string ns = options_.operator_namespace;
    Result<ClusterAccess> access = co_await AccessOfCluster(client_, clock_, std::move(ns));
    if (!access) co_return access.error();
    Result<> used = asker_.Use(access->config);
    if (!used)
      access->unread.push_back({"the configuration of registries", used.error().message()});
    unread_ = std::move(access->unread);
    cluster_ = std::move(*access);
  }
  std::string secrets = pod.metadata().namespace_();
  for (const std::string& secret : placement::PullSecretsOf(pod)) secrets += " " + secret;
  if (!keyrings_.contains(secrets)) {
    auto read = co_await KeyringOf(client_, clock_, pod, *cluster_, unread_);
    if (!read) co_return read.error();
    keyrings_.emplace(secrets, std::move(*read));
  }
  co_return secrets;
}

Async<PodImage> ImageFinder::Ask(const kube::core::Pod& pod, std::string image, bool only_volume) {
  Result<std::string> secrets = co_await Prepare(pod);
  if (!secrets) co_return secrets.error();
  const std::string key = (only_volume ? "volume " : "container ") + image + " " + *secrets;
  if (auto found = asked_.find(key); found != asked_.end()) co_return found->second;
  if (options_.progress) options_.progress("asks about " + image);
  ImageAsker::Question question{
      .image = image, .only_volume = only_volume, .keyring = keyrings_[*secrets]};
  Result<ImageDetails> details = co_await asker_.Ask(std::move(question));
  if (!details) co_return details.error();
  PodImage found{std::move(image), std::move(details->platforms),
                 details->error.empty() ? "the registry says so" : details->error};
  asked_.emplace(key, found);
  co_return found;
}

Async<std::string> ImageFinder::FindNewer(const kube::core::Pod& pod, std::string image,
                                          std::string architecture) {
  constexpr size_t kLookedAt = 5;
  Result<std::string> secrets = co_await Prepare(pod);
  if (!secrets) co_return secrets.error();
  const std::string key = image + " " + *secrets;
  if (auto found = newer_.find(key); found != newer_.end()) co_return found->second;
  std::string& newer = newer_[key];
  auto reference = inspection::Reference::Parse(image);
  if (!reference) co_return newer;
  if (options_.progress) options_.progress("looks for newer tags of " + image);
  ImageAsker::Question question{.image = image, .keyring = keyrings_[*secrets], .tags = true};
  Result<ImageDetails> details = co_await asker_.Ask(std::move(question));
  if (!details) co_return details.error();
  for (const std::string& tag : NewerTags(reference->tag, details->tags, kLookedAt)) {
    ImageAsker::Question next{.image = reference->Name() + ":" + tag,
                              .keyring = keyrings_[*secrets]};
    Result<ImageDetails> answer = co_await asker_.Ask(std::move(next));
    if (!answer) co_return answer.error();
    if (answer->platforms == nullptr ||
        !placement::Common({&answer->platforms, 1}).On("linux").contains(architecture))
      continue;
    newer = std::move(answer->image);
    break;
  }
  co_return newer;
}

}  // namespace plugin
