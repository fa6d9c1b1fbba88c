// SPDX-License-Identifier: Apache-2.0

// Command distribution is the registry of distribution 3, as its own cmd/registry, with what the
// tests use: images in a folder, passwords, tokens, and the proxy of another registry. Without the
// SDKs of three clouds it builds in a third of the time.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	_ "github.com/distribution/distribution/v3/registry/proxy"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	// The command has printed the error.
	if registry.RootCmd.Execute() != nil {
		os.Exit(1)
	}
}
