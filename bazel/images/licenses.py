# SPDX-License-Identifier: Apache-2.0
"""The licence texts of Debian packages, where Debian has them: /usr/share/doc/PACKAGE/copyright,
and the common licences that these refer to.
"""

import os
import re

COMMON = re.compile(r"/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]")


def texts_of(packages):
    """{path in an image: file here} of the texts of the packages (sbom.Package)."""
    texts = {}
    for package in packages:
        texts[package.copyright_file.lstrip("/")] = package.copyright_source
        with open(package.copyright_source, encoding="utf-8") as file:
            for name in COMMON.findall(file.read()):
                # "GPL" is a link to the newest version. Debian's package base-files has all of
                # them on every machine; some texts name one that never existed there.
                if os.path.isfile(name):
                    texts[name.lstrip("/")] = name
    return texts
