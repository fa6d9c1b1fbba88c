// SPDX-License-Identifier: Apache-2.0
// RunningCall: a call whose answer others want too. They wait until it has ended, instead of making
// it again, but not for ever.
//
//   auto own = running[key] = std::make_shared<RunningCall>();
//   ...
//   running.erase(key);
//   own->End();
//
// Thread: one.
#pragma once

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"

namespace inspection {

class RunningCall {
 public:
  // Wakes all that wait.
  void End();
  // Until `call` has ended. Errors: kDeadlineExceeded with `about`; kCancelled.
  static kube::Async<> Wait(std::shared_ptr<RunningCall> call, kube::Clock& clock,
                            kube::TimePoint deadline, std::string about);

 private:
  kube::Notifier done_;
  bool ended_ = false;
};

}  // namespace inspection
