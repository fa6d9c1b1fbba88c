// SPDX-License-Identifier: Apache-2.0
// Question: what a page asks, and what its answer may use. An answer is JSON.
//
// An answer keeps nothing, and its size is bounded: what tenants create is counted against budgets
// by namespace and in all, and the answer says what it leaves out.
#pragma once

#include <string>

#include "console/answers/query.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace console {

struct Question {
  kube::Client& client;  // with the user's rights
  kube::Executor executor;
  kube::Clock& clock;
  Query query;
  std::string body;
  std::string user;
  std::string operator_namespace;
};

// `question` outlives the call. Errors: kInvalid for a wrong question, those of the API server.
using AnswerTo = kube::Async<std::string> (*)(const Question& question);

}  // namespace console
