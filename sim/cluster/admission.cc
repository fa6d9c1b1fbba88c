// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/admission.h"

#include <glog/logging.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/base64.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "sim/base/reply.h"
#include "sim/cluster/gating_policies.h"
#include "sim/cluster/review.h"
#include "sim/cluster/rule_policies.h"
#include "sim/cluster/webhook_match.h"

namespace sim {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

std::shared_ptr<const Json> Null() {
  static const auto null = std::make_shared<const Json>();
  return null;
}

std::string Decoded(const Json& object, const char* path) {
  Result<std::string> decoded = kube::Base64Decode(kube::StringAt(object, path));
  return decoded ? std::move(*decoded) : "";
}

// What an API server has to know.
std::set<std::string> KnownCollections() {
  std::set<std::string> all = GatingPolicyCollections();
  all.merge(RulePolicyCollections());
  all.insert({kube::kNamespaces.Path(), kube::kMutatingWebhookConfigurations.Path(),
              kube::kValidatingWebhookConfigurations.Path()});
  return all;
}

}  // namespace

Admission::Admission(Loop& loop, ApiServer& server, kube::FakeStore& store, Services& services,
                     Random random)
    : loop_(loop),
      server_(server),
      services_(services),
      known_(loop, random.Fork(), KnownCollections()),
      random_(random),
      reader_(store, "kube-apiserver") {}

kube::Async<kube::Admitted> Admission::Admit(kube::AdmissionAttributes asked) {
  Write write{.asked = std::move(asked), .object = Null(), .ns = Null()};
  if (write.asked.object) write.object = write.asked.object;
  write.ns = NamespaceOf(write.asked.key.ns);
  if (auto changed = ApplyGatingPolicies(known_, random_, write.asked, *write.ns)) {
    write.object = std::make_shared<const Json>(std::move(*changed));
    write.changed = true;
  }
  Result<> done = co_await CallAll(write, kube::kMutatingWebhookConfigurations);
  if (!done) co_return done.error();
  for (std::string& answer : AnswersOfRulePolicies(known_, write.asked, *write.ns))
    write.warnings.push_back(std::move(answer));
  done = co_await CallAll(write, kube::kValidatingWebhookConfigurations);
  if (!done) co_return done.error();
  const bool is_new_pod = write.asked.collection == kube::kPods.Path() &&
                          write.asked.operation == "CREATE" && !write.asked.dry_run;
  if (is_new_pod && pod_delay_ > kube::Duration::zero()) {
    done = co_await AwaitStore(write.asked.key.ns);
    if (!done) co_return done.error();
  }
  kube::Admitted admitted;
  if (write.changed) admitted.object = *write.object;
  admitted.warnings = std::move(write.warnings);
  co_return admitted;
}

kube::Async<> Admission::CallAll(Write& write, const kube::Resource& configurations) {
  // They may change during a call.
  const KnownObjects::Objects known = known_.Of(configurations.Path());
  // Those that were called and may be called again, and those that are, because a later one has
  // changed the object.
  std::vector<const Json*> called_before;
  std::set<const Json*> again;
  for (bool first : {true, false}) {
    for (const auto& [key, configuration] : known) {
      for (const Json& entry : kube::ListAt(*configuration, "webhooks")) {
        if (!first && !again.contains(&entry)) continue;
        if (!MatchesRules(kube::ListAt(entry, "rules"), write.asked)) continue;
        if (!MatchesSelectors(entry, write.asked, *write.object, *write.ns)) continue;
        if (!MeetsConditions(entry, write.asked, *write.object)) continue;
        const std::shared_ptr<const Json> before = write.object;
        Result<> called = co_await CallOne(write, entry);
        if (!called) co_return called;
        if (first && *write.object != *before)
          again.insert(called_before.begin(), called_before.end());
        if (entry.value("reinvocationPolicy", "Never") == "IfNeeded")
          called_before.push_back(&entry);
      }
    }
  }
  co_return kube::Ok();
}

kube::Async<> Admission::CallOne(Write& write, const Json& entry) {
  const Json& to = entry.at("clientConfig");
  const std::string uid = "review-" + std::to_string(++last_review_);
  ServiceCall call{.ns = kube::StringAt(to, "service.namespace"),
                   .service = kube::StringAt(to, "service.name"),
                   .path = kube::StringAt(to, "service.path"),
                   .authorities_pem = Decoded(to, "caBundle"),
                   .body = kube::DumpJson(ReviewOf(uid, write.asked, *write.object)),
                   .timeout = std::chrono::seconds(entry.value("timeoutSeconds", 10))};
  std::function<void()> wake = [this] { server_.Wake(); };
  Result<kube::HttpReply> reply = co_await services_.Call(std::move(call), std::move(wake));
  Result<Json> review = Error::Unavailable("");
  if (!reply) {
    review = reply.error();
  } else if (reply->status != 200) {
    review = Error::Unavailable("status " + std::to_string(reply->status) + ": " + reply->body);
  } else {
    review = kube::ParseJson(reply->body);
  }
  if (review) co_return Take(write, entry, *review);
  if (entry.value("failurePolicy", "Fail") == "Ignore") {
    LOG(INFO) << "ignored webhook " << entry.value("name", "") << ": " << review.error();
    co_return kube::Ok();
  }
  co_return Error::FromHttpStatus(
      500, "InternalError",
      "failed calling webhook \"" + entry.value("name", "") + "\": " + review.error().message());
}

Result<> Admission::Take(Write& write, const Json& entry, const Json& review) const {
  const Json& response = review.at("response");
  for (const Json& warning : kube::ListAt(response, "warnings")) write.warnings.push_back(warning);
  if (!response.value("allowed", false)) {
    const Json& status = kube::ObjectAt(response, "status");
    return Error::FromHttpStatus(status.value("code", 403), status.value("reason", "Forbidden"),
                                 "admission webhook \"" + entry.value("name", "") +
                                     "\" denied the request: " + status.value("message", ""));
  }
  if (!response.contains("patch")) return kube::Ok();
  // A patch that does not apply ends the simulation by an exception: it is a defect.
  Json patched = write.object->patch(kube::MustParseJson(Decoded(response, "patch")));
  write.object = std::make_shared<const Json>(std::move(patched));
  write.changed = true;
  return kube::Ok();
}

kube::Async<> Admission::AwaitStore(std::string ns) {
  auto executor = co_await boost::asio::this_coro::executor;
  auto stored = std::make_shared<Reply<bool>>(executor, [this] { server_.Wake(); });
  loop_.At(loop_.now() + random_.Between(kube::Duration(0), pod_delay_),
           [stored] { stored->Set(true); });
  Result<bool> waited = co_await stored->Wait();
  if (!waited) co_return waited.error();
  std::optional<Json> now = reader_.GetJson(kube::kNamespaces, {"", ns});
  if (now && kube::Find(*now, "metadata.deletionTimestamp") == nullptr) co_return kube::Ok();
  co_return Error::FromHttpStatus(403, "Forbidden", "namespace " + ns + " is being terminated");
}

void Admission::DelayPolicies(kube::Duration longest) {
  known_.Delay(
      {kube::kMutatingAdmissionPolicies.Path(), kube::kMutatingAdmissionPolicyBindings.Path()},
      std::max<kube::Duration>(longest, KnownObjects::kLatest));
}

std::shared_ptr<const Json> Admission::NamespaceOf(const std::string& name) {
  if (name.empty()) return Null();
  if (auto known = known_.Get(kube::kNamespaces.Path(), {"", name})) return known;
  // A new one is read from the store.
  std::optional<Json> stored = reader_.GetJson(kube::kNamespaces, {"", name});
  return stored ? std::make_shared<const Json>(std::move(*stored)) : Null();
}

}  // namespace sim
