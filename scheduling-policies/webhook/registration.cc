// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/registration.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace policy {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::Result;
using kube::coordination::Lease;

// Timeout of each write: several attempts fit between the time of a renewal and kReplicaAnswersFor.
constexpr std::chrono::milliseconds kTimeout = 2s;
constexpr kube::BackoffOptions kRetry{.base = 250ms, .cap = 5s};

// metav1.MicroTime needs the fraction.
std::string MicroTime(kube::WallTime time) {
  std::string text = kube::FormatTime(time);
  text.pop_back();
  return text + ".000000Z";
}

}  // namespace

Registration::Registration(kube::Client& client, kube::Clock& clock, RegistrationOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      backoff_(kRetry),
      alarm_(clock, [this] { wake_.NotifyAll(); }) {}

kube::asio::awaitable<void> Registration::Run() {
  co_await kube::IgnoreCancellation();
  kube::Executor executor = co_await kube::asio::this_coro::executor;
  while (true) {
    acknowledge_ = false;
    sent_at_ = clock_.Now();
    Result<std::string> uid = co_await Write();
    bool cancelled = co_await kube::IsCancelled();
    if (cancelled) co_return;
    if (uid) {
      renewed_at_ = sent_at_;
      backoff_.Reset();
      due_ = sent_at_ + (acknowledge_ ? kube::Duration(kReplicaWritesEvery) : kReplicaRenewsEvery);
      if (std::exchange(uid_, *uid) != *uid) options_.registered();
    } else {
      due_ = clock_.Now() + backoff_.Next();
      LOG_IF(WARNING, backoff_.failures() == 1)
          << "lease " << options_.ns << "/" << options_.name << ": not renewed: " << uid.error();
    }
    while (clock_.Now() < due_) {
      alarm_.Set(executor, due_);
      Result<> waited = co_await wake_.Wait();
      if (!waited) co_return;
    }
  }
}

void Registration::Acknowledge() {
  acknowledge_ = true;
  if (backoff_.failures() > 0) return;
  due_ = std::min(due_, std::max(clock_.Now(), sent_at_ + kReplicaWritesEvery));
  wake_.NotifyAll();
}

bool Registration::in_force() const {
  return renewed_at_ && clock_.Now() < *renewed_at_ + kReplicaAnswersFor;
}

kube::Async<std::string> Registration::Write() {
  Lease lease;
  WriteReplica(options_.seen(), lease);
  Json json = {{"metadata", kube::MetadataToJson(lease.metadata())}};
  json["spec"] = {{"holderIdentity", options_.name},
                  {"leaseDurationSeconds", kReplicaDeadAfter.count()},
                  {"renewTime", MicroTime(clock_.WallNow())}};
  Result<std::string> patched = co_await Send(kube::Method::kPatch, json);
  if (!IsNotFound(patched)) co_return patched;
  json["apiVersion"] = kube::kLeases.ApiVersion();
  json["kind"] = kube::kLeases.kind;
  json["metadata"]["name"] = options_.name;
  json["metadata"]["namespace"] = options_.ns;
  Result<std::string> created = co_await Send(kube::Method::kPost, std::move(json));
  co_return created;
}

kube::Async<std::string> Registration::Send(kube::Method method, Json lease) {
  bool create = method == kube::Method::kPost;
  kube::ApiRequest request{.method = method,
                           .target = kube::kLeases.Path(options_.ns, create ? "" : options_.name),
                           .content_type = std::string(create ? kube::kJson : kube::kMergePatch),
                           .body = kube::DumpJson(lease),
                           .timeout = kTimeout};
  auto written = co_await kube::CallFor<kube::Unstructured>(client_, std::move(request));
  if (!written) co_return written.error();
  co_return written->metadata().uid();
}

kube::Async<> Registration::End() {
  renewed_at_.reset();
  kube::ApiRequest request{.method = kube::Method::kDelete,
                           .target = kube::kLeases.Path(options_.ns, options_.name),
                           .timeout = kTimeout};
  Result<> deleted = co_await kube::Send(client_, std::move(request));
  if (!deleted && !IsNotFound(deleted)) co_return deleted.error().Prefix("delete the Lease");
  co_return kube::Ok();
}

}  // namespace policy
