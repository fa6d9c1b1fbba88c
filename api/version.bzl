# SPDX-License-Identifier: Apache-2.0
"""The definition of api::kVersion (version.h)."""

def version_source(name, out, version):
    """Writes the C++ file `out` that defines api::kVersion as the text of the file `version`."""
    native.genrule(
        name = name,
        srcs = [version],
        outs = [out],
        cmd = """
version=$$(cat $<)
case $$version in
  *[!0-9A-Za-z.+-]* | "") echo "$<: not a semantic version: $$version" >&2; exit 1 ;;
esac
cat >$@ <<END
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

namespace api {

// As in version.h.
extern const std::string_view kVersion;

constinit const std::string_view kVersion = "$$version";

}  // namespace api
END
""",
    )
