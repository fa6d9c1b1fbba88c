// SPDX-License-Identifier: Apache-2.0
#include "api/version.h"
#include "kube/base/app.h"
#include "operator/deploy/deploy.h"
#include "operator/deploy/flags.h"

namespace {

kube::Async<> Main(kube::App& app) {
  auto client = operator_::ClientFromFlags(app);
  if (!client) co_return client.error();
  auto objects = operator_::ManifestsFromFlags();
  if (!objects) co_return objects.error();
  operator_::DeployOptions options{.timeout = operator_::TimeoutFromFlags()};
  auto deployed = co_await operator_::Deploy(**client, app.clock(), std::move(*objects), options);
  co_return deployed;
}

}  // namespace

int main(int argc, char** argv) {
  return kube::RunApp({"deploy", "Installs the operator on a cluster.", api::kVersion, argc, argv}, Main);
}
