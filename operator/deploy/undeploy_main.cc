// SPDX-License-Identifier: Apache-2.0
#include "api/version.h"
#include "kube/base/app.h"
#include "operator/deploy/flags.h"
#include "operator/deploy/undeploy.h"

namespace {

kube::Async<> Main(kube::App& app) {
  auto client = operator_::ClientFromFlags(app);
  if (!client) co_return client.error();
  auto objects = operator_::ManifestsFromFlags();
  if (!objects) co_return objects.error();
  operator_::UndeployOptions options{.timeout = operator_::TimeoutFromFlags()};
  auto gone = co_await operator_::Undeploy(**client, app.clock(), std::move(*objects), options);
  co_return gone;
}

}  // namespace

int main(int argc, char** argv) {
  return kube::RunApp({"undeploy", "Removes the operator and all it made.", api::kVersion, argc, argv}, Main);
}
