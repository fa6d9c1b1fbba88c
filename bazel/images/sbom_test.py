#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the SBOM of a real image with the image, and with what SPDX 2.3 requires."""

import json
import os
import re
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import oci_layout  # pylint: disable=wrong-import-position
import sbom  # pylint: disable=wrong-import-position

IMAGE, DOCUMENT = "webhook/image.tar", "webhook/image.spdx.json"
# Shared libraries of the image -> the package that Debian 12 has them in.
LIBRARIES = {
    r"ld-linux-.*|ld64\..*|libc\.so.*|libm\.so.*": "libc6",
    r"libcrypto\.so\.0|libssl\.so\.0": "android-libboringssl",
    r"libgcc_s\.so.*": "libgcc-s1",
    r"liblzma\.so.*": "liblzma5",
    r"libprometheus-cpp-core\.so.*": "libprometheus-cpp-core1.0",
    r"libsimdjson\.so.*": "libsimdjson14",
    r"libstdc\+\+\.so.*": "libstdc++6",
    r"libunwind\.so.*": "libunwind8",
    # Of builds with a sanitizer; no release has them.
    r"libasan\.so.*": "libasan8",
    r"libubsan\.so.*": "libubsan1",
    r"libtsan\.so.*": "libtsan2",
}


class Sbom(unittest.TestCase):
    def setUp(self):
        with open(DOCUMENT, encoding="utf-8") as text:
            self.document = json.load(text)
        self.packages = {package["name"]: package for package in self.document["packages"]}
        self.entry, self.blobs = oci_layout.read_archive(IMAGE)
        self.manifest = json.loads(self.blobs[self.entry["digest"]])

    def image_files(self):
        path = os.path.join(os.environ["TEST_TMPDIR"], "layer")
        with open(path, "wb") as out:
            out.write(self.blobs[self.manifest["layers"][0]["digest"]])
        with tarfile.open(path) as layer:
            return [member.name for member in layer.getmembers() if member.isfile()]

    def related(self, kind):
        ids = {package["SPDXID"]: package["name"] for package in self.document["packages"]}
        return {ids[r["relatedSpdxElement"]] for r in self.document["relationships"]
                if r["relationshipType"] == kind}

    def test_has_what_spdx_requires(self):
        self.assertEqual(self.document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(self.document["dataLicense"], "CC0-1.0")
        self.assertEqual(self.document["SPDXID"], "SPDXRef-DOCUMENT")
        self.assertRegex(self.document["documentNamespace"], r"^https://[^#]+$")
        self.assertRegex(self.document["creationInfo"]["created"],
                         r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(self.document["creationInfo"]["creators"][0],
                         r"^(Tool|Person|Organization): ")
        ids = [package["SPDXID"] for package in self.document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for package in self.document["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            for key in ("name", "versionInfo", "downloadLocation", "licenseDeclared",
                        "licenseConcluded", "copyrightText"):
                self.assertTrue(package[key], f"{package['name']}: {key}")
            self.assertIs(package["filesAnalyzed"], False)
            self.assertRegex(package["externalRefs"][0]["referenceLocator"],
                             r"^pkg:(deb/debian|oci)/[^\s@]+@[^\s@]+\?arch=")
        for relationship in self.document["relationships"]:
            self.assertIn(relationship["spdxElementId"], ids + ["SPDXRef-DOCUMENT"])
            self.assertIn(relationship["relatedSpdxElement"], ids)

    def test_every_shared_library_has_its_package(self):
        libraries = [os.path.basename(file) for file in self.image_files() if ".so" in file]
        self.assertGreater(len(libraries), 5)
        wanted = set()
        for library in libraries:
            found = [name for pattern, name in LIBRARIES.items() if re.fullmatch(pattern, library)]
            self.assertTrue(found, f"{library}: add it to LIBRARIES")
            wanted.update(found)
        self.assertEqual(self.related("DYNAMIC_LINK"), wanted)

    def test_the_image_has_the_licences_of_every_package(self):
        files = self.image_files()
        self.assertIn("usr/share/doc/webhook/LICENSE", files)
        for package in self.document["packages"]:
            if package["name"] != "pod-placement/webhook":
                self.assertIn(f"usr/share/doc/{package['name']}/copyright", files)
        # libstdc++'s text refers to it.
        self.assertIn("usr/share/common-licenses/GPL-3", files)

    def test_names_what_is_compiled_in(self):
        self.assertLessEqual({"libboost1.81-dev", "libgoogle-glog-dev", "libgflags-dev"},
                             self.related("STATIC_LINK"))

    def test_describes_this_image_in_this_version(self):
        own = self.packages["pod-placement/webhook"]
        self.assertEqual(own["checksums"][0]["checksumValue"],
                         self.entry["digest"].removeprefix("sha256:"))
        config = json.loads(self.blobs[self.manifest["config"]["digest"]])
        version = own["versionInfo"]
        for labels in (config["config"]["Labels"], self.manifest["annotations"]):
            self.assertEqual(labels["org.opencontainers.image.version"], version)

    def test_names_the_modules_of_go_programs(self):
        with open("fleet/cel/evaluator/evaluator.modules.json", encoding="utf-8") as text:
            modules = json.load(text)
        document = json.loads(sbom.document(
            sbom.Image("pod-placement/x", "1", "amd64", "sha256:0"), {}, [], modules))
        packages = {package["name"]: package for package in document["packages"]}
        self.assertLess(20, len(modules))
        self.assertEqual(packages["github.com/google/cel-go"]["licenseDeclared"], "Apache-2.0")
        for module in modules:
            package = packages[module["name"]]
            self.assertNotEqual(package["licenseDeclared"], "NOASSERTION", module)
            self.assertRegex(package["externalRefs"][0]["referenceLocator"],
                             r"^pkg:golang/[^\s@]+@v?[0-9]")
        self.assertEqual(len({package["SPDXID"] for package in document["packages"]}),
                         len(modules) + 1)
        # The image contains the texts.
        with open("fleet/cel/evaluator/evaluator.licenses.txt", encoding="utf-8") as text:
            licenses = text.read()
        for module in modules:
            self.assertIn(f"===== {module['name']} {module['version']}: ", licenses)

    def test_a_file_without_package_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no Debian package has"):
            sbom.PackageDatabase("/").owners([__file__])

    def test_a_package_that_is_not_installed_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no-such-package"):
            sbom.PackageDatabase("/").packages(["libc6", "no-such-package"])


if __name__ == "__main__":
    unittest.main()
