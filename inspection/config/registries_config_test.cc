// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/registries_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection/config/registry_rules.h"
#include "inspection/testing/mutate.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kDigest = "@sha256:" + std::string(64, 'a');

// "host/repository", with "!" after an insecure one; or the error.
std::vector<std::string> Sources(std::string_view toml, const std::string& image) {
  kube::Result<RegistriesConfig> config = RegistriesConfig::Parse(toml);
  if (!config) return {config.error().ToString()};
  kube::Result<Reference> reference = Reference::Parse(image);
  if (!reference) return {reference.error().ToString()};
  kube::Result<std::vector<PullSource>> sources = config->Sources(*reference);
  if (!sources) return {sources.error().ToString()};
  std::vector<std::string> names;
  for (const PullSource& source : *sources) {
    names.push_back(source.registry + "/" + source.repository + (source.insecure ? "!" : ""));
  }
  return names;
}

TEST(RegistriesConfigTest, AnEmptyFileLeavesTheRegistryOfTheImage) {
  EXPECT_THAT(Sources("", "nginx"), ElementsAre("docker.io/library/nginx"));
  EXPECT_THAT(Sources("# nothing\n", "r.io:5000/a/b:1"), ElementsAre("r.io:5000/a/b"));
}

TEST(RegistriesConfigTest, MirrorsComeFirstInOrder) {
  constexpr std::string_view kToml = R"(
[[registry]]
location = "quay.io"
[[registry.mirror]]
location = "mirror.local:5000/quay"
insecure = true
[[registry.mirror]]
location = "second.local/"
)";
  EXPECT_THAT(Sources(kToml, "quay.io/a/b:1"),
              ElementsAre("mirror.local:5000/quay/a/b!", "second.local/a/b", "quay.io/a/b"));
  EXPECT_THAT(Sources(kToml, "quay.io.evil.com/a/b:1"), ElementsAre("quay.io.evil.com/a/b"));
}

TEST(RegistriesConfigTest, TheLongestPrefixWins) {
  constexpr std::string_view kToml = R"(
[[registry]]
prefix = "*.example.com"
location = "star.local"
[[registry]]
prefix = "r.example.com"
location = "host.local"
[[registry]]
prefix = "r.example.com/team"
location = "team.local/x"
)";
  EXPECT_THAT(Sources(kToml, "r.example.com/team/app"), ElementsAre("team.local/x/app"));
  EXPECT_THAT(Sources(kToml, "r.example.com/teams/app"), ElementsAre("host.local/teams/app"));
  EXPECT_THAT(Sources(kToml, "a.b.example.com/app"), ElementsAre("star.local/app"));
  EXPECT_THAT(Sources(kToml, "example.com/app"), ElementsAre("example.com/app"));
}

TEST(RegistriesConfigTest, AWildcardWithoutLocationKeepsTheHost) {
  EXPECT_THAT(Sources("[[registry]]\nprefix = \"*.lab.io\"\ninsecure = true\n", "a.lab.io:5000/x"),
              ElementsAre("a.lab.io:5000/x!"));
}

TEST(RegistriesConfigTest, MirrorsMayServeTagsOrDigestsOnly) {
  constexpr std::string_view kToml = R"(
[[registry]]
location = "r.io"
[[registry.mirror]]
location = "digests.io"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "tags.io"
pull-from-mirror = "tag-only"
[[registry.mirror]]
location = "all.io"
)";
  EXPECT_THAT(Sources(kToml, "r.io/a:1"), ElementsAre("tags.io/a", "all.io/a", "r.io/a"));
  EXPECT_THAT(Sources(kToml, "r.io/a:1" + kDigest),
              ElementsAre("digests.io/a", "all.io/a", "r.io/a"));
  constexpr std::string_view kOld = R"(
[[registry]]
location = "r.io"
mirror-by-digest-only = true
mirror = [{location = "m.io"}]
)";
  EXPECT_THAT(Sources(kOld, "r.io/a:1"), ElementsAre("r.io/a"));
  EXPECT_THAT(Sources(kOld, "r.io/a" + kDigest), ElementsAre("m.io/a", "r.io/a"));
}

TEST(RegistriesConfigTest, ALocationThatYieldsNoImageNameIsAnError) {
  constexpr std::string_view kToml = R"(
[[registry]]
prefix = "a.io"
location = "b.io:1"
[[registry]]
location = "c.io/app"
mirror = [{location = "d.io"}]
)";
  EXPECT_THAT(Sources(kToml, "a.io/app"), ElementsAre("b.io:1/app"));
  EXPECT_THAT(
      Sources(kToml, "a.io:2/app"),
      ElementsAre(
          "Invalid: registries.conf, location of a.io: b.io:1:2/app is not the name of an image"));
  EXPECT_THAT(
      Sources(kToml, "c.io/app"),
      ElementsAre(
          "Invalid: registries.conf, mirror of c.io/app: d.io is not the name of an image"));
}

TEST(RegistriesConfigTest, ABlockedRegistryIsNotASource) {
  constexpr std::string_view kToml = R"(
[[registry]]
location = "bad.io"
blocked = true
[[registry]]
location = "gone.io"
blocked = true
mirror = [{location = "bad.io/gone"}, {location = "kept.io"}]
)";
  EXPECT_THAT(
      Sources(kToml, "bad.io/a"),
      ElementsAre("PermissionDenied: registry bad.io is blocked by the registries configuration"));
  EXPECT_THAT(Sources(kToml, "gone.io/a"), ElementsAre("kept.io/a"));
}

TEST(RegistriesConfigTest, ShortNamesFollowAliasesAndSearch) {
  constexpr std::string_view kToml = R"(
unqualified-search-registries = ["one.io", "docker.io"]
[aliases]
"fedora" = "registry.fedoraproject.org/fedora"
"off" = ""
)";
  EXPECT_THAT(Sources(kToml, "fedora:40"), ElementsAre("registry.fedoraproject.org/fedora"));
  EXPECT_THAT(Sources(kToml, "app"), ElementsAre("one.io/app", "docker.io/library/app"));
  EXPECT_THAT(Sources(kToml, "off"), ElementsAre("one.io/off", "docker.io/library/off"));
  EXPECT_THAT(Sources(kToml, "docker.io/app"), ElementsAre("docker.io/library/app"));
  EXPECT_THAT(Sources(std::string("short-name-mode = \"enforcing\"\n") + std::string(kToml), "app"),
              ElementsAre(HasSubstr("Invalid: short name app is ambiguous")));
}

TEST(RegistriesConfigTest, ErrorsNameTheLine) {
  for (std::string_view row :
       {"x", "[[registry]]\nblocked = \"true\"\nlocation = \"a.io\"", "[[registry]]\n",
        "[[registry]]\nlocation = \"https://a.io\"", "registry = 7", "[aliases]\na = 7",
        "[[registry]]\nlocation = \"a.io\"\n[[registry.mirror]]\ninsecure = true",
        "[registries.search]\nregistries = [\"a\"]", "short-name-mode = \"odd\"",
        "unqualified-search-registries = [\"a b\"]",
        "[[registry]]\nlocation=\"a.io\"\nmirror=[{location=\"b.io\", pull-from-mirror=\"x\"}]"}) {
    kube::Result<RegistriesConfig> got = RegistriesConfig::Parse(row);
    ASSERT_FALSE(got) << row;
    EXPECT_EQ(got.error().code(), kube::Code::kInvalid);
    EXPECT_THAT(got.error().message(), HasSubstr("registries.conf line "));
  }
}

TEST(RegistriesConfigTest, DamageIsHarmless) {
  const std::string seed =
      "unqualified-search-registries = [\"one.io\"]\n[[registry]]\nprefix = \"*.r.io\"\nlocation = "
      "\"m.io/x\"\n"
      "mirror = [{location = \"n.io\", insecure = true}]\n[aliases]\n\"a\" = \"b.io/c\"\n";
  Reference reference = *Reference::Parse("a.r.io/b");
  ForMutations({seed}, 5'000, [&](const std::string& text) {
    kube::Result<RegistriesConfig> config = RegistriesConfig::Parse(text);
    if (!config) return;
    kube::Result<std::vector<PullSource>> sources = config->Sources(reference);
    EXPECT_TRUE(!sources || !sources->empty());
  });
}

TEST(RegistriesConfigTest, ADropInReplacesEntriesOfItsPrefixes) {
  auto config = RegistriesConfig::Parse(R"(
unqualified-search-registries = ["one.io"]
[[registry]]
location = "quay.io"
blocked = true
[[registry]]
location = "r.io"
blocked = true
[aliases]
app = "one.io/app"
web = "one.io/web"
)");
  auto later = RegistriesConfig::Parse(R"(
[[registry]]
location = "quay.io"
[aliases]
app = "two.io/app"
)");
  ASSERT_TRUE(config && later);
  config->Merge(std::move(*later));
  auto first = [&](const std::string& image) {
    auto sources = config->Sources(*Reference::Parse(image));
    return sources ? sources->front().registry : sources.error().ToString();
  };
  EXPECT_EQ(first("quay.io/a"), "quay.io");
  EXPECT_THAT(first("r.io/a"), HasSubstr("blocked"));
  EXPECT_EQ(first("app"), "two.io");
  EXPECT_EQ(first("web"), "one.io");
  EXPECT_EQ(first("other"), "one.io");
}

TEST(RegistriesConfigTest, RulesOfAClusterAddToTheFile) {
  RegistryRules rules;
  AddDigestMirrorSet(*kube::ParseJson(R"({"spec":{"imageDigestMirrors":[
      {"source":"quay.io/team","mirrors":["mirror.io/quay","plain.io/quay"]},
      {"source":"closed.io","mirrors":["mirror.io/closed"],"mirrorSourcePolicy":"NeverContactSource"},
      {"source":"Not A Name","mirrors":["mirror.io"]}, 7]}})"),
                     rules);
  AddTagMirrorSet(
      *kube::ParseJson(
          R"({"spec":{"imageTagMirrors":[{"source":"quay.io","mirrors":["tags.io"]}]}})"),
      rules);
  AddContentSourcePolicy(
      *kube::ParseJson(
          R"({"spec":{"repositoryDigestMirrors":[{"source":"old.io","mirrors":["mirror.io/old"]}]}})"),
      rules);
  AddImageConfig(*kube::ParseJson(R"({"spec":{"registrySources":{"insecureRegistries":["plain.io"],
      "blockedRegistries":["bad.io"],"containerRuntimeSearchRegistries":["search.io"]}}})"),
                 rules);
  RegistriesConfig config;
  config.Add(rules);
  auto sources = [&](const std::string& image) {
    auto found = config.Sources(*Reference::Parse(image));
    if (!found) return std::vector<std::string>{found.error().ToString()};
    std::vector<std::string> names;
    for (const PullSource& source : *found) {
      names.push_back(source.registry + "/" + source.repository + (source.insecure ? "!" : ""));
    }
    return names;
  };
  EXPECT_THAT(sources("quay.io/team/app" + kDigest),
              ElementsAre("mirror.io/quay/app", "plain.io/quay/app!", "quay.io/team/app"));
  EXPECT_THAT(sources("quay.io/team/app:1"), ElementsAre("quay.io/team/app"));
  EXPECT_THAT(sources("quay.io/other/app:1"),
              ElementsAre("tags.io/other/app", "quay.io/other/app"));
  EXPECT_THAT(sources("old.io/app" + kDigest), ElementsAre("mirror.io/old/app", "old.io/app"));
  EXPECT_THAT(sources("closed.io/app" + kDigest), ElementsAre("mirror.io/closed/app"));
  EXPECT_THAT(sources("closed.io/app:1"), ElementsAre(HasSubstr("blocked")));
  EXPECT_THAT(sources("bad.io/app:1"), ElementsAre(HasSubstr("blocked")));
  EXPECT_THAT(sources("app"), ElementsAre("search.io/app"));
}

TEST(RegistriesConfigTest, HostsAreThoseOfLocationsMirrorsAndSearch) {
  auto config = RegistriesConfig::Parse(R"(
unqualified-search-registries = ["search.io"]
[[registry]]
prefix = "quay.io/team"
location = "moved.corp:5000/team"
[[registry.mirror]]
location = "mirror.corp/a"
[[registry]]
prefix = "*.wild.io"
[[registry]]
location = "blocked.io"
blocked = true
)");
  ASSERT_TRUE(config) << config.error();
  EXPECT_THAT(config->Hosts(),
              ElementsAre("mirror.corp", "moved.corp:5000", "quay.io", "search.io"));
}

}  // namespace
}  // namespace inspection
