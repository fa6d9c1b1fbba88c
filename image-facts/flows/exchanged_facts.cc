// SPDX-License-Identifier: Apache-2.0
// What one cluster knows of images can be given to another one, signed; there, pods are placed by
// it, although no registry can be asked.
#include <string>
#include <utility>

#include "image-facts/exchange.h"
#include "image-facts/flows/facts_fixture.h"
#include "image-facts/image_facts.h"
#include "image-facts/testing/make_facts.h"
#include "image-facts/tool/commands.h"
#include "image-facts/tool/signed_text.h"
#include "image-facts/tool/testing/key_pair.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

class ExchangedFactsFlow : public FactsFixture {
 protected:
  Result<std::string> Show(const std::string& image) {
    return cluster().Run(image_facts::Show(cluster().client(), cluster().clock(),
                                           cluster().operator_namespace(), image));
  }
  Result<std::string> Import(std::string file, std::string key) {
    return cluster().Run(image_facts::Import(cluster().client(), cluster().clock(),
                                             cluster().operator_namespace(), std::move(file),
                                             std::move(key)));
  }

  const image_facts::KeyPair keys_ = image_facts::NewKeyPair();
};

TEST_F(ExchangedFactsFlow, WhatAnAdminImportsPlacesPods) {
  Result<> used = UseConfig(PlacingConfig());
  ASSERT_TRUE(used) << used.error();
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string image = "absent.invalid/app@" + digest;
  image_facts::ImageFacts elsewhere;
  elsewhere.facts = {{image, digest, image_facts::OnLinux({"ppc64le"}), image_facts::Seconds{}}};
  Result<std::string> file =
      image_facts::Sign(image_facts::ToExport({elsewhere}), keys_.private_key);
  ASSERT_TRUE(file) << file.error();

  EXPECT_FALSE(Import(*file, image_facts::NewKeyPair().public_key));
  EXPECT_FALSE(Show(image)) << "it was not signed with that key";
  const Condition imports{.name = "the file is imported", .holds = [&](Scene&) -> Result<> {
                            Result<std::string> done = Import(*file, keys_.public_key);
                            if (!done) return done.error();
                            return *done == "1 facts added, 0 known before, 0 without room\n"
                                       ? Ok()
                                       : Result<>(Error::Invalid(*done));
                          }};
  const std::string later = Image("demo/s390x:1");
  Flow flow(scene(), "imported facts");
  // Under the configuration of an earlier flow, what is imported would be dropped with it: the
  // controller can only read this image with that of this one.
  flow.Do(Create(MakePod("settled").Image(image_)))
      .Await(Requires("settled", {"s390x"}))
      .Await(IsStored(image_))
      .Await(imports)
      .Await(IsPlaced(image))
      .Do(Create(MakePod("placed").Image(image)))
      .Await(Requires("placed", {"ppc64le"}))
      .Check(WasGated("placed", false))
      // The controller has it, too, and keeps it.
      .Do(Create(MakePod("gated").Image(later)))
      .Await(Requires("gated", {"s390x"}))
      .Await(IsStored(later))
      .Check(IsStored(image));

  Result<std::string> shown = Show(image);
  ASSERT_TRUE(shown) << shown.error();
  EXPECT_NE(shown->find("linux/ppc64le"), std::string::npos) << *shown;
  EXPECT_NE(shown->find("counts:            yes, without end"), std::string::npos) << *shown;

  Result<std::string> exported = cluster().Run(
      image_facts::Export(cluster().client(), cluster().operator_namespace(), keys_.private_key));
  ASSERT_TRUE(exported) << exported.error();
  Result<std::string> text = image_facts::Verify(*exported, keys_.public_key);
  ASSERT_TRUE(text) << text.error();
  EXPECT_NE(text->find(image), std::string::npos);
  EXPECT_NE(text->find(image_), std::string::npos);
}

}  // namespace
}  // namespace e2e
