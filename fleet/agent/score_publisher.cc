// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/score_publisher.h"

#include <utility>

#include "fleet/api/add_on_placement_score.h"
#include "kube/client/typed.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

}  // namespace

Async<kube::Duration> ScorePublisher::Publish() {
  if (!usage_.current()) co_return kUntilComplete;
  if (!known_) {
    Result<> read = co_await Read();
    if (!read) co_return read.error().Prefix("read the AddOnPlacementScore");
  }
  Scores scores = ScoresOf(usage_.sums(), options_);
  kube::WallTime now = clock_.WallNow();
  if (!DecideWrite(stored_ ? &*stored_ : nullptr, scores, now).write) co_return kEvery;
  kube::WallTime valid_until = now + kScoresValidity;
  known_ = false;  // until the write has succeeded
  Result<> written = co_await Write(scores, valid_until);
  if (!written) co_return written.error().Prefix("write the AddOnPlacementScore");
  stored_ = StoredScores{std::move(scores), valid_until};
  known_ = true;
  co_return kEvery;
}

Async<> ScorePublisher::Read() {
  ObjectKey key{cluster_, std::string(kScoresName)};
  Result<Unstructured> read = co_await kube::GetObject(hub_, kAddOnPlacementScores, key);
  if (!read && !IsNotFound(read)) co_return read.error();
  stored_.reset();
  if (read && kube::Find(read->body(), "status") != nullptr) {
    Result<AddOnPlacementScore> stored = AddOnPlacementScore::FromJson(read->body());
    // An unreadable score object is replaced.
    if (stored && stored->problems.empty())
      stored_ =
          StoredScores{Scores(stored->scores.begin(), stored->scores.end()), stored->valid_until};
  }
  known_ = true;
  co_return Ok();
}

Async<> ScorePublisher::Write(const Scores& scores, kube::WallTime valid_until) {
  Json list = Json::array();
  for (const auto& [name, value] : scores) list.push_back({{"name", name}, {"value", value}});
  Json patch;
  patch["status"] = {{"scores", std::move(list)}, {"validUntil", kube::FormatTime(valid_until)}};
  ObjectKey key{cluster_, std::string(kScoresName)};
  std::string subresource = "status";
  Result<Unstructured> written = co_await kube::PatchObject(hub_, kAddOnPlacementScores, key,
                                                            kube::kMergePatch, patch, subresource);
  if (!IsNotFound(written)) {
    if (!written) co_return written.error();
    co_return Ok();
  }
  Json object;
  object["apiVersion"] = kAddOnPlacementScores.ApiVersion();
  object["kind"] = std::string(kAddOnPlacementScores.kind);
  object["metadata"] = {{"name", key.name}, {"namespace", key.ns}};
  Unstructured missing(std::move(object));
  Result<Unstructured> created =
      co_await kube::CreateObject(hub_, kAddOnPlacementScores, std::move(missing));
  if (!created) co_return created.error();
  written = co_await kube::PatchObject(hub_, kAddOnPlacementScores, key, kube::kMergePatch,
                                       std::move(patch), std::move(subresource));
  if (!written) co_return written.error();
  co_return Ok();
}

}  // namespace fleet
