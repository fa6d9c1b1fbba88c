# SPDX-License-Identifier: Apache-2.0
#
# Each target first runs the targets that it needs and skips finished work: `make demo` works on a
# fresh Debian 12.
#
# KUBECONFIG           the cluster to use; without it a kind cluster is created
# KIND_NODE_IMAGE      the kind node image to pull; without it one is built from Debian packages
# POD_PLACEMENT_CACHE  the folder for tools and node image (~/.cache/pod-placement)
# PARTS                the parts of the tests that `make test` runs (e2e/test.sh)
# KEEP                 with KEEP=1, the fleet of `make fleet-demo` runs on until Ctrl-C
# BENCH                options of //benchmarks:pods for the bench targets, such as --pods=2000;
#                      of //fleet/benchmark:fleet for bench-fleet
# SOAK                 options of //e2e/soak, such as --seconds=600
# VERSION, OUT         what `make release` makes, and the new folder for it
# REGISTRY             where a release is pushed to, as host/path; its files name it
# ARCHITECTURES        of a release, comma-separated (amd64,arm64,ppc64le,s390x)
# KEY                  cosign's private key for `release-push`; its public key for `release-check`
# RELEASE              more options of release/make_release.py, push.py or check.py
# SECONDS, SEED        how long `make chaos` runs (180), and the seed of its faults (1)
# SEEDS, REPLAY        how many plans `make sim` simulates (100), or a file with the one to repeat
# RESULTS              the folder for their results (~/.cache/pod-placement/benchmarks)
# FROM                 the revision that `make test-upgrade` upgrades; the last one of version 0.1.0

CLUSTER := e2e/cluster
SEEDS ?= 100
FROM ?= 7c7b43ef0f29a8ed3cdccff6424cf10dc0957884

.DEFAULT_GOAL := help
.PHONY: help setup setup-packages setup-cross cluster demo images plugin test-arch reproduce
.PHONY: unit fuzz down
.PHONY: setup-release release release-push release-check test-release
.PHONY: attacks sim sim-defects
.PHONY: test test-all test-install test-fuzz test-asan test-tsan test-kind test-upgrade
.PHONY: test-neighbours test-long test-oldest test-vm chaos chaos-page soak screenshots
.PHONY: clean-cache bench bench-setup bench-growth bench-fleet bench-micro
.PHONY: bench-page fleet-demo

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup-packages:
	@third_party/install.sh --go third_party/packages.txt $(CLUSTER)/packages.txt

setup: setup-packages ## Install packages and build the tools (once, about 15 minutes)
	@third_party/install.sh e2e/monitoring/packages.txt console/flows/packages.txt
	@third_party/go/vendor.sh fleet/cel/evaluator >/dev/null
	@third_party/npm/install.sh console/web >/dev/null
	@$(CLUSTER)/build-tools.sh

cluster: setup-packages ## Start a kind cluster and a registry with the demo images
ifndef KUBECONFIG
	@$(CLUSTER)/up.sh
else
	@echo "cluster: KUBECONFIG=$(KUBECONFIG)"
endif

demo: setup-packages ## Start a cluster, deploy the operator and show how it places pods
	@e2e/demo.sh

fleet-demo: setup ## Show a hub and two members: Placements, a rollout, lost capacity
	@fleet/e2e/demo.sh

setup-cross:
	@third_party/install.sh --go third_party/packages.txt third_party/packages-cross.txt

images: setup-cross ## Build the images for amd64, arm64, ppc64le and s390x, for //operator:push
	@bazel/images/build.sh

plugin: setup-cross ## Build kubectl-placement for amd64, arm64, ppc64le and s390x, into dist/
	@plugin/archive/build.sh

setup-release: setup-packages
	@third_party/install.sh e2e/cluster/packages.txt
	@$(CLUSTER)/build-tools.sh kubernetes kind kwok coredns helm cosign oras krew

release: setup-cross ## Make the release VERSION in OUT: images, charts, bundles, plugin (an hour)
	@release/make_release.py --version=$(VERSION) --out=$(OUT) \
	  $(if $(REGISTRY),--registry=$(REGISTRY)) \
	  $(if $(ARCHITECTURES),--architectures=$(ARCHITECTURES)) $(RELEASE)

release-push: setup-release ## Push the release in OUT to its registry, and sign it with KEY
	@release/with-tools.sh release/push.py $(OUT) $(if $(KEY),--key=$(KEY)) $(RELEASE)

release-check: setup-release cluster ## Install the pushed release VERSION of REGISTRY in every way
	@$(CLUSTER)/with-cluster.sh release/with-tools.sh release/check.py --registry=$(REGISTRY) \
	  --version=$(VERSION) $(if $(KEY),--key=$(KEY)) $(RELEASE)

test: setup ## Run the tests of every change: unit, integration, kind (30 minutes)
	@e2e/test.sh $(PARTS)

test-all: setup ## Run all tests (100 minutes)
	@e2e/test.sh all

attacks: setup ## Try the attacks that SECURITY.md has bounds for, with figures (20 minutes)
	@e2e/attacks.sh

test-install: setup ## Install operator and fleet in every way, on kind
	@e2e/test.sh install

sim: setup-packages ## Simulate SEEDS=N plans with faults, or REPLAY=FILE; shrink what fails
	@bazel build //sim
	@bazel-bin/sim/sim --minloglevel=3 --shrink $(if $(REPLAY),--replay=$(REPLAY),--seeds=$(SEEDS))

sim-defects: setup-packages ## Check that simulations find each deliberate defect (an hour)
	@sim/defects/find.py

chaos: setup ## Run real processes with real faults for SECONDS=N, with SEED=N
	@e2e/chaos/chaos.sh $(or $(SECONDS),180) $(or $(SEED),1)

chaos-page: ## Write the report of the last `make chaos` to docs/reliability.md
	@e2e/chaos/chaos.sh page

test-fuzz: setup ## Fuzz all parsers of untrusted bytes, half a minute each
	@e2e/test.sh fuzz

test-asan: setup ## Run unit and integration tests with AddressSanitizer and UBSan
	@e2e/test.sh asan

test-tsan: setup ## Run unit and integration tests with ThreadSanitizer
	@e2e/test.sh tsan

screenshots: setup ## Take the pictures of docs/console.md from the console's tests
	@console/flows/screenshots.sh

test-neighbours: setup ## Run flows with other products, which are built from their Go modules
	@e2e/test.sh neighbours

test-vm: setup-packages ## Run the monitor's BPF program with Debian's kernel, in a virtual machine
	@e2e/test.sh vm

test-long: setup ## Run flows on a real API server that wait for minutes
	@e2e/test.sh long

test-oldest: setup ## Run the integration tier on the oldest Kubernetes that is supported
	@e2e/test.sh oldest

test-kind: setup ## Run all flows that can run on kind
	@e2e/test.sh kind

test-release: setup setup-release ## Make, push, verify and install a release, on kind
	@e2e/test.sh release

test-upgrade: setup ## Upgrade a real older version on kind; builds the revision FROM
	@e2e/install/test_upgrade.sh "$(FROM)"

test-arch: setup-cross ## Run unit tests for arm64, ppc64le and s390x, under qemu-user
	@bazel/test_architectures.sh

reproduce: ## Build an image twice and compare the digests
	@bazel/images/compare_builds.sh

unit: ## Run the tests that need no cluster
	@bazel test //...

fuzz: setup ## Fuzz all parsers of untrusted bytes, a minute each
	@fuzz/fuzz.sh 60

bench-setup: setup
	@third_party/install.sh benchmarks/packages.txt

bench: bench-setup ## Measure floor, webhook and policy in one run (15 minutes), and at rest
	@benchmarks/bench.sh rounds rest -- $(BENCH)

bench-growth: bench-setup ## Measure how cost grows with pods, namespaces, configs (30 minutes)
	@benchmarks/bench.sh growth -- $(BENCH)

bench-fleet: bench-setup ## Measure a hub with 5,000 clusters and 500 Placements (20 minutes)
	@benchmarks/bench.sh fleet -- $(BENCH)

bench-micro: bench-setup ## Measure the hot pure functions (5 minutes)
	@benchmarks/bench.sh micro

bench-page: bench-setup ## Write the results of the bench targets to docs/performance.md
	@benchmarks/bench.sh page

soak: bench-setup ## Run all programs for two hours with faults: does one of them grow?
	@e2e/soak/soak.sh $(SOAK)

down: ## Delete the cluster and the registry
	@$(CLUSTER)/kind-down.sh

clean-cache: down ## Delete the cluster, the tools and the node image
	@$(CLUSTER)/clean-cache.sh
