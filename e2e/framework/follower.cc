// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/follower.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Code;
using kube::Json;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

Follower::Follower(kube::Client& client, kube::Clock& clock, kube::Resource resource,
                   kube::ListOptions options, OnEvent on_event)
    : client_(client),
      clock_(clock),
      resource_(resource),
      options_(std::move(options)),
      on_event_(std::move(on_event)) {}

boost::asio::awaitable<void> Follower::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    if (!synced_) {
      Result<> listed = co_await List();
      if (FailedWith(listed, Code::kCancelled)) co_return;
      synced_ = listed.has_value();
    }
    if (synced_) {
      Result<> watched = co_await Watch();
      if (FailedWith(watched, Code::kCancelled)) co_return;
      if (FailedWith(watched, Code::kExpired)) {
        ++gaps_;
        synced_ = false;
      }
      if (watched) continue;
    }
    Result<> paused = co_await clock_.Sleep(100ms);
    if (!paused) co_return;
  }
}

Async<> Follower::List() {
  auto list = co_await kube::ListObjects(client_, resource_, options_);
  if (!list) co_return list.error();
  for (const Unstructured& object : list->items) on_event_("ADDED", object.body());
  resource_version_ = list->resource_version;
  co_return Ok();
}

Async<> Follower::Watch() {
  std::string target = resource_.Path(options_.ns);
  kube::AddQuery(target, "watch", "true");
  kube::AddQuery(target, "allowWatchBookmarks", "true");
  kube::AddQuery(target, "resourceVersion", resource_version_);
  if (!options_.label_selector.empty())
    kube::AddQuery(target, "labelSelector", options_.label_selector);
  if (!options_.field_selector.empty())
    kube::AddQuery(target, "fieldSelector", options_.field_selector);

  kube::ApiRequest request{.target = std::move(target)};
  auto stream = co_await client_.Watch(std::move(request));
  if (!stream) co_return stream.error();
  while (true) {
    auto frame = co_await (*stream)->Next();
    if (!frame) co_return frame.error();
    if (!*frame) co_return Ok();
    auto event = kube::DecodeFrame<Unstructured>(**frame);
    if (!event) co_return event.error();
    resource_version_ = event->object.metadata().resource_version();
    if (event->type != "BOOKMARK") on_event_(event->type, event->object.body());
  }
}

}  // namespace e2e
