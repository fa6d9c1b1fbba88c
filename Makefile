# SPDX-License-Identifier: Apache-2.0
#
# The ways in. Each target does what is missing and nothing else, so `make demo` on a fresh Debian
# 12 works, if slowly, and again at once.
#
# KUBECONFIG         an own cluster to work with: none is made then
# KIND_NODE_IMAGE    an ordinary kind node image to pull, instead of one made here from Debian
#                    packages
# POD_PLACEMENT_CACHE where tools and the node image are kept (~/.cache/pod-placement)

CLUSTER := e2e/cluster

.DEFAULT_GOAL := help
.PHONY: help setup cluster demo test unit fuzz down clean-cache

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup: ## Install packages and build the tools (once, about 10 minutes)
	@third_party/install.sh --go third_party/packages.txt $(CLUSTER)/packages.txt
	@$(CLUSTER)/build-tools.sh

cluster: setup ## Bring up the cluster, a registry and the demo images
ifndef KUBECONFIG
	@$(CLUSTER)/kind-up.sh
	@$(CLUSTER)/registry-up.sh
	@$(CLUSTER)/push-images.sh
else
	@echo "cluster: the one of KUBECONFIG=$(KUBECONFIG)"
endif

demo: cluster ## Show the operator at work
	@e2e/demo.sh

test: setup ## Run all tests: units, on a real control plane, and on kind
	@e2e/test.sh

unit: ## Run the tests that need no cluster
	@bazel test //...

fuzz: setup ## Throw damaged input at all that reads untrusted bytes, a minute for each
	@fuzz/fuzz.sh 60

down: ## Take down the cluster and all that runs beside it
	@$(CLUSTER)/kind-down.sh

clean-cache: down ## Delete the tools and the node image
	@$(CLUSTER)/clean-cache.sh
