// SPDX-License-Identifier: Apache-2.0
// FakeInspector: an ImageInspector whose results come from the test.
//
//   FakeInspector images;
//   images.SetResult("r.io/app:1", ArchitectureSet{"arm64"});   // others wait until SetResult()
//   images.SetPlatforms("r.io/app:2", {{"windows", "amd64"}});
//   images.SetDefault(Error::Unavailable("503"));               // for all other images
//   EXPECT_THAT(images.inspected(), ElementsAre("r.io/app:1"));
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/notifier.h"
#include "placement/platforms.h"

namespace inspection {

class FakeInspector final : public ImageInspector {
 public:
  using Result = kube::Result<Inspected>;

  kube::Async<Inspected> Inspect(ImageRequest request) override {
    co_await kube::IgnoreCancellation();
    requests_.push_back(request);
    while (!ResultFor(request.image)) {
      kube::Result<> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    co_return *ResultFor(request.image);
  }
  std::optional<Result> Cached(const ImageRequest& request) override {
    if (!cached_.contains(request.image)) return std::nullopt;
    return ResultFor(request.image);
  }
  std::string SharingKey(const ImageRequest& request) const override {
    std::string key = std::to_string(generation_) + " " + request.image +
                      (request.use == Use::kVolume ? " volume" : "") +
                      (request.always_pull ? " always " : " ");
    return request.keyring == nullptr ? key : key + request.keyring->Identity();
  }
  kube::Result<void> SetConfig(InspectorConfig config) override {
    configs_.push_back(std::move(config));
    return kube::Ok();
  }

  void Restore(const ImageAnswer& image, kube::Duration age) override {
    restored_.emplace_back(image, age);
  }
  void Observe(std::function<void(Learned)> learned, std::function<void()> configured) override {
    learned_ = std::move(learned);
    configured_ = std::move(configured);
  }
  const std::string& Configuration() const override { return configuration_; }

  // Also ends the inspections that wait for it. The architectures are those of linux.
  void SetResult(const std::string& image, kube::Result<placement::ArchitectureSet> linux) {
    results_.insert_or_assign(image, OnLinux(linux));
    changed_.NotifyAll();
  }
  void SetPlatforms(const std::string& image, std::vector<placement::Platform> platforms) {
    placement::ImagePlatforms all{.platforms = std::move(platforms)};
    auto shared = std::make_shared<const placement::ImagePlatforms>(std::move(all));
    results_.insert_or_assign(image, Inspected{std::move(shared)});
    changed_.NotifyAll();
  }
  // The result stays, with this text.
  void SetStale(const std::string& image, std::string stale) {
    results_.at(image)->stale = std::move(stale);
  }
  // The result stays, with this digest.
  void SetDigest(const std::string& image, std::string digest) {
    results_.at(image)->digest = std::move(digest);
  }
  void SetDefault(const kube::Result<placement::ArchitectureSet>& linux) {
    default_ = OnLinux(linux);
    changed_.NotifyAll();
  }
  // As a new configuration does.
  void ChangeKeys() {
    configuration_ = "c" + std::to_string(++generation_);
    if (configured_) configured_();
  }
  // As an answer of a registry does.
  void Learn(Learned image) { learned_(std::move(image)); }
  // Other images have no result until there is one.
  void ClearDefault() { default_.reset(); }
  // Makes Cached() return the result of `image`.
  void SetCached(const std::string& image) { cached_.insert(image); }

  // The arguments of Inspect(), in order.
  const std::vector<ImageRequest>& requests() const { return requests_; }
  // The images of requests().
  std::vector<std::string> inspected() const {
    std::vector<std::string> images;
    for (const ImageRequest& request : requests_) images.push_back(request.image);
    return images;
  }
  // The arguments of Restore(), in order.
  const std::vector<std::pair<ImageAnswer, kube::Duration>>& restored() const { return restored_; }
  // The arguments of SetConfig(), in order.
  const std::vector<InspectorConfig>& configs() const { return configs_; }

 private:
  static Result OnLinux(const kube::Result<placement::ArchitectureSet>& architectures) {
    if (!architectures) return architectures.error();
    placement::ImagePlatforms image;
    for (const std::string& architecture : *architectures)
      image.platforms.push_back({"linux", architecture});
    return Inspected{std::make_shared<const placement::ImagePlatforms>(std::move(image))};
  }
  std::optional<Result> ResultFor(const std::string& image) const {
    auto found = results_.find(image);
    return found == results_.end() ? default_ : found->second;
  }

  int generation_ = 0;
  std::string configuration_ = "c0";
  std::function<void(Learned)> learned_;
  std::function<void()> configured_;
  std::map<std::string, Result> results_;
  std::optional<Result> default_;
  std::set<std::string> cached_;
  std::vector<ImageRequest> requests_;
  std::vector<InspectorConfig> configs_;
  std::vector<std::pair<ImageAnswer, kube::Duration>> restored_;
  kube::Notifier changed_;
};

}  // namespace inspection
