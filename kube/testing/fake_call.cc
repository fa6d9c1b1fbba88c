// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_call.h"

#include <utility>

#include "kube/types/unstructured.h"

namespace kube {
namespace {

// The value of dryRun; "" without one.
std::string DryRunOf(const ApiRequest& request, const FakeTarget& target) {
  std::string value = target.Query("dryRun");
  if (!value.empty() || request.method != Method::kDelete) return value;
  Result<Json> options = ParseJson(request.body);
  const Json* values = options ? Find(*options, "dryRun") : nullptr;
  if (values == nullptr || !values->is_array() || values->empty()) return "";
  return values->at(0).is_string() ? values->at(0).get<std::string>() : DumpJson(values->at(0));
}

}  // namespace

Result<FakeCall> FakeCall::Parse(Caller caller, ApiRequest request) {
  Result<FakeTarget> target = FakeTarget::Parse(request.target);
  if (!target) return target.error();
  FakeCall call{std::move(caller), std::move(request), std::move(*target)};
  std::string dry_run = DryRunOf(call.request, call.target);
  call.dry_run = dry_run == "All";
  if (!dry_run.empty() && !call.dry_run) {
    return Error::FromHttpStatus(
        422, "Invalid",
        "dryRun: Unsupported value: \"" + dry_run + "\": supported values: \"All\"");
  }
  return call;
}

std::string FakeCall::Verb() const {
  switch (request.method) {
    case Method::kPost:
      return "create";
    case Method::kPut:
      return "update";
    case Method::kPatch:
      return "patch";
    case Method::kDelete:
      return "delete";
    case Method::kGet:
      break;
  }
  return "get";
}

}  // namespace kube
