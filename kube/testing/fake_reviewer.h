// SPDX-License-Identifier: Apache-2.0
// FakeReviewer: answers SelfSubjectAccessReviews, and no other call: allows everything except one
// verb and resource.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace kube {

class FakeReviewer final : public Client {
 public:
  // Client
  Async<ApiResponse> Call(ApiRequest request) override {
    ++calls;
    if (down) co_return Error::Unavailable("down");
    if (request.target != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
      co_return Error::NotFound(request.target);
    Result<Json> review = ParseJson(request.body);
    if (!review) co_return review.error();
    namespaces.insert(StringAt(*review, "spec.resourceAttributes.namespace"));
    std::string asked = StringAt(*review, "spec.resourceAttributes.verb") + " " +
                        StringAt(*review, "spec.resourceAttributes.resource");
    (*review)["status"]["allowed"] = asked != denied;
    std::string body = DumpJson(*review);
    co_return ApiResponse{201, std::string(kJson), std::move(body)};
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest) override {
    co_return Error::Internal("no watch");
  }

  // "update pods"
  std::string denied;
  bool down = false;
  int calls = 0;
  // Those of all reviews.
  std::set<std::string> namespaces;
};

}  // namespace kube
