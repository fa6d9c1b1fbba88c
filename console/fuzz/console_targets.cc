// SPDX-License-Identifier: Apache-2.0
#include "console/fuzz/console_targets.h"

#include <glog/logging.h>

#include <string>

#include "console/answers/query.h"
#include "kube/base/error.h"

namespace console {
namespace {

// A name from a query becomes a part of a path of the API server.
void FuzzQuery(const std::string& input) {
  kube::Result<Query> query = Query::Parse(input);
  if (!query) return;
  for (const char* parameter : {"namespace", "name"}) {
    kube::Result<std::string> name = query->ObjectName(parameter);
    if (!name) continue;
    CHECK_EQ(name->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."), std::string::npos);
    CHECK_EQ(name->find(".."), std::string::npos);
    CHECK(!name->starts_with('.') && !name->ends_with('.'));
  }
}

}  // namespace

std::vector<fuzz::FuzzTarget> ConsoleTargets() { return {{"console-query", FuzzQuery}}; }

}  // namespace console
