// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/write_pace.h"

namespace fleet {

kube::Duration WritePace::Take(const std::string& object) {
  kube::TimePoint now = clock_.Now();
  Window& window = windows_.try_emplace(object, Window{.begin = now}).first->second;
  if (now - window.begin >= kWindow) window = Window{.begin = now};
  if (window.writes >= kWrites) return window.begin + kWindow - now;
  ++window.writes;
  return kube::Duration::zero();
}

}  // namespace fleet
