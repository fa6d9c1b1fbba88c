// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_inspector.h"

#include <memory>
#include <utility>

namespace cluster_controller {

using inspection::ImageRequest;
using inspection::Inspected;
using inspection::Use;
using kube::Async;
using kube::Result;
using placement::JudgedImage;
using placement::SharedPlatforms;

namespace {

// Higher than any pod needs. Longer names are not valid references (inspection/base/reference.h).
constexpr size_t kMaxImages = 256;
constexpr size_t kMaxName = 1024;
constexpr size_t kShownName = 256;
// The memory of an image in the queue: a fixed part, and several copies of its name.
constexpr size_t kPerImage = 1024;
constexpr size_t kCopiesOfName = 4;

Result<void> CheckImages(const std::vector<placement::ContainerImage>& images) {
  if (images.size() > kMaxImages) {
    return kube::Error::Invalid("the pod has " + std::to_string(images.size()) +
                                " different images, at most " + std::to_string(kMaxImages) +
                                " are inspected");
  }
  for (const placement::ContainerImage& image : images) {
    if (image.reference.size() <= kMaxName) continue;
    return kube::Error::Invalid("inspect " + image.reference.substr(0, kShownName) +
                                "...: the name is longer than " + std::to_string(kMaxName) +
                                " bytes");
  }
  return kube::Ok();
}

}  // namespace

PodInspector::Images PodInspector::Images::Of(const kube::core::Pod& pod) {
  inspection::PodIdentity identity{.ns = pod.metadata().namespace_(),
                                   .pod = pod.metadata().name(),
                                   .uid = pod.metadata().uid(),
                                   .account = pod.spec().service_account_name(),
                                   .pull_secrets = placement::PullSecretsOf(pod)};
  return {.pod = kube::KeyOf(pod),
          .identity = std::make_shared<const inspection::PodIdentity>(std::move(identity)),
          .images = placement::ImagesOf(pod)};
}

PodInspector::Images PodInspector::Images::OfImage(const std::string& name,
                                                   inspection::PodIdentity identity,
                                                   std::string image) {
  return {.pod = {identity.ns, name},
          .identity = std::make_shared<const inspection::PodIdentity>(std::move(identity)),
          .images = {{.reference = std::move(image), .always_pull = true}}};
}

void PodInspector::OnTurn(const std::function<void(const kube::ObjectKey&)>& wake) {
  memory_.OnTurn(wake);
  readers_.OnTurn(wake);
}

Async<std::vector<PodInspector::Wanted>> PodInspector::WantedFor(Images& images) {
  Result<void> checked = CheckImages(images.images);
  if (!checked) co_return checked.error();
  if (!images.keyring) {
    Result<inspection::SharedKeyring> read =
        co_await secrets_.For(images.pod.ns, images.identity->pull_secrets, images.deadline);
    if (!read) co_return read.error();
    images.keyring = std::move(*read);
  }
  std::vector<Wanted> wanted;
  for (const placement::ContainerImage& image : images.images) {
    wanted.push_back({.request = {.image = image.reference,
                                  .use = image.only_volume ? Use::kVolume : Use::kContainer,
                                  .always_pull = image.always_pull,
                                  .keyring = *images.keyring,
                                  .pod = images.identity},
                      .never_pull = image.never_pull});
  }
  co_return wanted;
}

Async<std::vector<ImageRequest>> PodInspector::RequestsFor(Images& images) {
  Result<std::vector<Wanted>> all = co_await WantedFor(images);
  if (!all) co_return all.error();
  std::vector<ImageRequest> requests;
  for (Wanted& wanted : *all) requests.push_back(std::move(wanted.request));
  co_return requests;
}

JudgedImage PodInspector::Judge(const std::string& ns, const Wanted& wanted, Inspected& image) {
  JudgedImage judged{.platforms = image.platforms};
  if (findings_ == nullptr || image.digest.empty() || wanted.request.use != Use::kContainer)
    return judged;
  judged.wrong = findings_->WrongFor(image.digest, ns);
  judged.amd64_level = findings_->Amd64LevelFor(image.digest, ns);
  findings_->Inspected(wanted.request, image);
  return judged;
}

PodInspector::Known PodInspector::FindOnNodes(const kube::ObjectKey& pod, const std::string& image,
                                              bool wait, const kube::Error& otherwise) {
  if (nodes_ == nullptr) return otherwise;
  std::optional<Result<SharedPlatforms>> nodes = nodes_->Find(pod, image, wait);
  if (!nodes) return std::nullopt;
  if (!*nodes) return otherwise.Prefix(nodes->error().message());
  if ((**nodes)->platforms.empty()) return otherwise;
  return Inspected{std::move(**nodes)};
}

PodInspector::Known PodInspector::Find(const kube::ObjectKey& pod, const Wanted& wanted,
                                       bool last_attempt, bool& from_nodes) {
  const std::string& image = wanted.request.image;
  if (wanted.never_pull) {
    Known on_nodes =
        FindOnNodes(pod, image, last_attempt,
                    kube::Error::NotFound("inspect " + image.substr(0, kShownName) +
                                          ": no node has the image, and its pull policy is Never"));
    if (on_nodes && *on_nodes) from_nodes = true;
    return on_nodes;
  }
  Known known = queue_.Submit(pod, wanted.request);
  if (!known || *known || wanted.request.always_pull) return known;
  // A registry that fails once would pin the pod to the nodes that have the image already.
  const kube::Error error = known->error();
  bool nodes_decide =
      error.code() == kube::Code::kNotFound || (last_attempt && inspection::IsOutage(error));
  if (!nodes_decide) return known;
  Known on_nodes = FindOnNodes(pod, image, /*wait=*/false, error);
  if (!on_nodes || !*on_nodes) return on_nodes;
  (*on_nodes)->stale = image + " is on nodes; " + error.message();
  from_nodes = true;
  return on_nodes;
}

Async<std::optional<PodImages>> PodInspector::Inspect(const kube::core::Pod& pod,
                                                      bool last_attempt) {
  Images images = Images::Of(pod);
  co_return co_await InspectImages(images, last_attempt);
}

Async<std::optional<PodImages>> PodInspector::InspectImages(Images& images, bool last_attempt) {
  kube::ObjectKey key = images.pod;
  bool reads = !images.identity->pull_secrets.empty() && !images.keyring;
  if (!memory_.Enter(key) || (reads && !readers_.Enter(key))) co_return std::nullopt;
  Result<std::vector<Wanted>> all = co_await WantedFor(images);
  readers_.Leave(key);
  if (!all) {
    Forget(key);
    co_return all.error();
  }
  size_t bytes = 0;
  for (const Wanted& wanted : *all)
    bytes += kPerImage + kCopiesOfName * wanted.request.image.size();
  for (const std::string& secret : images.identity->pull_secrets) bytes += secret.size();
  if (!all->empty() && all->front().request.keyring != nullptr)
    bytes += all->front().request.keyring->bytes();
  memory_.Take(key, bytes);
  kube::TimePoint started = queue_.WaitingSince(key).value_or(clock_.Now());

  // Submits every image, also after an error, so that all are inspected at the same time.
  std::vector<JudgedImage> judged;
  PodImages found;
  std::string& stale = found.stale;
  std::optional<kube::Error> error;
  bool complete = true;
  for (const Wanted& wanted : *all) {
    Known known = Find(key, wanted, last_attempt, found.from_nodes);
    if (!known) {
      complete = false;
    } else if (!*known) {
      if (!error) error = known->error();
    } else {
      judged.push_back(Judge(key.ns, wanted, **known));
      if (!judged.back().wrong.empty()) found.wrong_image = wanted.request.image;
      if (stale.empty()) stale = std::move((*known)->stale);
    }
  }
  if (!complete && !error) co_return std::nullopt;
  const bool is_pod = IsPod(key);
  if (is_pod) {
    metrics_.time_to_inspect_pod_images.Observe(
        std::chrono::duration<double>(clock_.Now() - started).count());
  }
  Forget(key);
  if (error) co_return *error;
  if (is_pod && !stale.empty()) metrics_.stale_inspections.Increment();
  placement::JudgedPlatforms common = placement::CommonOf(
      judged, findings_ == nullptr ? placement::ArchitectureSet() : findings_->offered());
  found.platforms = std::move(common.common);
  found.avoided = std::move(common.avoided);
  found.believes_indexes = common.believes_indexes;
  co_return found;
}

bool PodInspector::CanPrefetch() const {
  return prefetching_ < options_.prefetch_readers && queue_.queued() < options_.prefetch_queued;
}

Async<> PodInspector::Prefetch(Images images) {
  if (!CanPrefetch()) co_return kube::Ok();
  ++prefetching_;
  Result<std::vector<Wanted>> all = co_await WantedFor(images);
  --prefetching_;
  if (!all) co_return all.error();
  for (const Wanted& wanted : *all) {
    if (queue_.queued() >= options_.prefetch_queued) break;
    if (!wanted.never_pull) queue_.Prefetch(images.pod.ns, wanted.request);
  }
  co_return kube::Ok();
}

void PodInspector::Forget(const kube::ObjectKey& pod) {
  queue_.Forget(pod);
  if (nodes_ != nullptr) nodes_->Forget(pod);
  readers_.Leave(pod);
  memory_.Leave(pod);
}

}  // namespace cluster_controller
