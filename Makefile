# The front door. `make` or `make help` lists what there is; every target does the set-up it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help

ROOT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
ARCH := $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x64)
export PATH := $(ROOT)node_modules/node-linux-$(ARCH)/bin:$(ROOT)node_modules/.bin:$(PATH)

STAMP := node_modules/.agentbox-setup

# What running sandboxes takes, and what their tests take. Without root there are no sandboxes, and nothing is asked for.
AS_ROOT := $(filter 0,$(shell id -u))
NODE_PACKAGES := $(if $(AS_ROOT),tools/setup.sh packages nft=nftables ip=iproute2 /usr/bin/tini-static=tini cc=gcc /usr/include/stdio.h=libc6-dev /usr/include/sodium.h=libsodium-dev mkfs.ext4=e2fsprogs nsenter=util-linux && tools/runc/build.sh >/dev/null,true)
TEST_PACKAGES := $(if $(AS_ROOT),tools/setup.sh packages docker-registry=docker-registry skopeo=skopeo tmux=tmux musl-gcc=musl-tools busybox=busybox-static /usr/lib/postgresql/*/bin/postgres=postgresql promtool=prometheus systemd-analyze=systemd,true)
CLUSTER_PACKAGES := $(if $(AS_ROOT),tools/setup.sh packages runc=runc nft=nftables ip=iproute2 docker-registry=docker-registry busybox=busybox-static /usr/lib/cni/bridge=containernetworking-plugins,true)
TEST_PROJECTS := unit contract $(if $(AS_ROOT),node history)

.PHONY: help
help: ## List the targets
	@echo "AgentBox: isolated sandboxes for AI agents, out of warm pools"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## Install what the project needs (npm packages, Node, Debian packages); the other targets do it by themselves

$(STAMP): package-lock.json tools/setup.sh
	@tools/setup.sh
	@touch $(STAMP)

.PHONY: up
up: $(STAMP) ## Start AgentBox on this machine, in the foreground; Ctrl-C stops it
	@$(NODE_PACKAGES)
	@bin/agentbox up

.PHONY: down
down: $(STAMP) ## End AgentBox and remove all its sandboxes from this machine
	@bin/agentbox down

.PHONY: install
install: $(STAMP) ## Run AgentBox as a service of this machine (systemd; needs root; docs/operations.md)
	@$(NODE_PACKAGES)
	@bin/agentbox install

.PHONY: test
test: $(STAMP) ## Run all tests that need no Kubernetes
	@$(NODE_PACKAGES)
	@$(TEST_PACKAGES)
	@node tools/run-tests.ts $(TEST_PROJECTS)

.PHONY: test-node
test-node: $(STAMP) ## Real containers killed again and again and in great numbers (minutes; needs root)
	@$(NODE_PACKAGES)
	@$(TEST_PACKAGES)
	@node tools/run-tests.ts node-endurance

.PHONY: test-browser
test-browser: $(STAMP) ## Use the web console in Debian's Chromium, over a real server (minutes; needs root)
	@$(NODE_PACKAGES)
	@$(if $(AS_ROOT),tools/setup.sh packages chromium=chromium,true)
	@node tools/run-tests.ts browser

.PHONY: test-kubernetes
test-kubernetes: $(STAMP) ## Run the same contracts on a real etcd and kube-apiserver (built the first time, about 8 minutes)
	@tools/kubernetes-bed/build.sh >/dev/null
	@node tools/run-tests.ts kubernetes

.PHONY: cluster
cluster: $(STAMP) ## Start a real Kubernetes with one node on this machine (built the first time, minutes; needs root)
	@$(CLUSTER_PACKAGES)
	@node tools/cluster.ts up

.PHONY: cluster-status
cluster-status: $(STAMP) ## Look at the cluster of this machine
	@node tools/cluster.ts status

.PHONY: cluster-down
cluster-down: $(STAMP) ## Remove the cluster from this machine, with all that it left there
	@node tools/cluster.ts down

.PHONY: test-cluster
test-cluster: cluster ## Run the tests of real pods on that cluster
	@node tools/run-tests.ts cluster

.PHONY: test-cluster-life
test-cluster-life: cluster ## Kill that cluster's programs, take it down and start it anew: nothing may be left (minutes)
	@node tools/run-tests.ts cluster-life

.PHONY: test-rollout
test-rollout: cluster ## Restart every part of an installation on that cluster while E2B's SDK uses it (needs `make images`; minutes)
	@$(TEST_PACKAGES)
	@node test/cluster/rollout/run.ts

.PHONY: test-many
test-many: $(STAMP) ## Many processes of AgentBox on a real API server: leaders killed, a minute without the server, shared limits (minutes)
	@tools/kubernetes-bed/build.sh >/dev/null
	@node tools/run-tests.ts many

.PHONY: attack
attack: $(STAMP) ## One tenant tries to exhaust a server while another one works: what the other one still gets (minutes; needs root)
	@$(NODE_PACKAGES)
	@$(TEST_PACKAGES)
	@node test/attack/run.ts

.PHONY: test-upgrade
test-upgrade: $(STAMP) ## Start this version on a data folder that an earlier one wrote, with sandboxes in place (a minute; needs root and git history)
	@$(NODE_PACKAGES)
	@node tools/run-tests.ts upgrade

.PHONY: test-vm
test-vm: $(STAMP) ## Boot stock Debian 12 and 13 in QEMU and run there what a newcomer runs (SUITE=bookworm|trixie for one, QUICK=1 without suites; STEPS=cleanliness for single steps, BOOTS=as-service for other boots; an hour; needs root)
	@$(NODE_PACKAGES)
	@$(if $(AS_ROOT),tools/setup.sh packages qemu-system-x86_64=qemu-system-x86 debootstrap=debootstrap mke2fs=e2fsprogs,true)
	@node test/vm/run.ts $(if $(SUITE),--suite=$(SUITE)) $(if $(QUICK),--quick) $(if $(STEPS),--only=$(STEPS)) $(if $(BOOTS),--boots=$(BOOTS))

.PHONY: test-mcp
test-mcp: $(STAMP) ## Run the Model Context Protocol's conformance suite against /mcp (installs it the first time; half a minute)
	@node test/mcp/run.ts

.PHONY: test-templates
test-templates: $(STAMP) ## Build the templates of `agentbox template add` and use them with E2B's SDKs (TEMPLATES="base node" for some; ten minutes; needs root)
	@$(NODE_PACKAGES)
	@$(IMAGE_PACKAGES)
	@node test/templates/run.ts $(TEMPLATES)

.PHONY: conformance
conformance: $(STAMP) ## Run E2B's published SDKs against AgentBox (installs them the first time; minutes; needs root)
	@$(NODE_PACKAGES)
	@vitest run --project conformance

# What nobody on a cluster does, and those cases are skipped by name (docs/cluster.md).
CLUSTER_WITHOUT := egress

.PHONY: conformance-cluster
conformance-cluster: cluster ## The same against AgentBox on that cluster (needs `make images`)
	@AGENTBOX_CONFORMANCE_ENGINE=kubernetes AGENTBOX_CONFORMANCE_WITHOUT=$(CLUSTER_WITHOUT) vitest run --project conformance

.PHONY: packages
packages: $(STAMP) ## Build the SDKs' packages, an npm tarball and a Python wheel, into build/packages (docs/sdks.md)
	@node tools/build-packages.ts

.PHONY: test-sdks
test-sdks: $(STAMP) ## Install these packages into clean environments and run their pages' examples against a real server (minutes; needs root)
	@$(NODE_PACKAGES)
	@vitest run --project sdks

.PHONY: test-frameworks
test-frameworks: $(STAMP) ## Install the frameworks of docs/frameworks.md, run their blocks and their own suites on a real server (minutes; needs root)
	@$(NODE_PACKAGES)
	@vitest run --project frameworks

.PHONY: test-faults
test-faults: $(STAMP) ## 2,000 creates by E2B's newest SDK over a network that loses answers: none twice, none lost (CREATES= SEED=; minutes; needs root)
	@$(NODE_PACKAGES)
	@node test/faults/run.ts $(if $(CREATES),--creates=$(CREATES)) $(if $(SEED),--seed=$(SEED))

.PHONY: explore
explore: $(STAMP) ## Try all properties on many new cases, where `make test` has the same few in every run
	@AGENTBOX_PROPERTY_SEED=random AGENTBOX_PROPERTY_RUNS=3000 node tools/run-tests.ts unit contract -- --testTimeout=600000

.PHONY: crash-test
crash-test: $(STAMP) ## Kill the embedded server 50 times under write load and check that nothing acknowledged is lost
	@node test/crash/run.ts --kills 50

.PHONY: crash-test-checkpoints
crash-test-checkpoints: $(STAMP) ## Kill the server while it takes checkpoints, forks, pauses deeply and resumes: nothing lost, nothing left (KILLS=40; minutes; needs root)
	@node test/crash/checkpoints/run.ts --kills $(or $(KILLS),40)

.PHONY: bench-objects
bench-objects: $(STAMP) ## Measure the embedded object store beside a real API server
	@tools/kubernetes-bed/build.sh >/dev/null
	@node bench/objects/run.ts

.PHONY: bench-node
bench-node: $(STAMP) ## Measure real sandboxes on this machine beside plain runc
	@$(NODE_PACKAGES)
	@node bench/node/run.ts

.PHONY: bench-claims
bench-claims: $(STAMP) ## Measure creates, from the request to an armed sandbox, beside one write and one call
	@$(NODE_PACKAGES)
	@$(TEST_PACKAGES)
	@node bench/claims/run.ts

.PHONY: bench-autoscaling
bench-autoscaling: $(STAMP) ## Compare ways to size pools, in simulated time (one of your own traces: node bench/autoscaling/run.ts --trace FILE)
	@node bench/autoscaling/run.ts

.PHONY: bench-large-pools
bench-large-pools: $(STAMP) ## Measure one team's requests while 10,000 pods of another are made and deleted, on a simulated node (minutes)
	@node bench/large-pools/run.ts

.PHONY: bench-many-envs
bench-many-envs: $(STAMP) ## Measure a control plane with 1,000 Envs, 3,000 pools and 10,000 pods, on a simulated node (minutes)
	@node bench/many-envs/run.ts

.PHONY: bench-kubernetes
bench-kubernetes: cluster ## Measure creates on that cluster beside one write and one call (needs `make images`; a quarter of an hour)
	@node bench/kubernetes/run.ts

.PHONY: bench-size
bench-size: $(STAMP) ## Measure memory and claims with 10,000 pods in the caches, on a real API server without nodes (minutes)
	@tools/kubernetes-bed/build.sh >/dev/null
	@node bench/size/run.ts

.PHONY: bench-gateway
bench-gateway: $(STAMP) ## Measure the gateway beside a direct connection and Envoy (downloads it the first time, 37 MB)
	@node bench/gateway/run.ts

.PHONY: bench-tti
bench-tti: $(STAMP) ## Measure from a create to a first command's output with E2B's SDK (installs it the first time; needs root)
	@$(NODE_PACKAGES)
	@node bench/tti/run.ts

.PHONY: bench-growth
bench-growth: $(STAMP) ## Measure 30 creates at once on a fresh server, and creates on empty pools, with E2B's SDK (needs root)
	@$(NODE_PACKAGES)
	@node bench/growth/run.ts

.PHONY: bench-checkpoints
bench-checkpoints: $(STAMP) ## Measure snapshots and forks of sandboxes beside cp and tar of the same files (needs root)
	@$(NODE_PACKAGES)
	@node bench/checkpoints/run.ts

.PHONY: bench-images
bench-images: $(STAMP) ## Measure pulling and unpacking images
	@$(TEST_PACKAGES)
	@node bench/images/run.ts

.PHONY: bench-history
bench-history: $(STAMP) ## Measure the history on SQLite and PostgreSQL
	@$(TEST_PACKAGES)
	@node bench/history/run.ts

.PHONY: fuzz
fuzz: $(STAMP) ## 100,000 generated bad requests to the daemon, the gateway and the APIs (AGENTBOX_FUZZ_RUNS; minutes; needs root)
	@$(TEST_PACKAGES)
	@AGENTBOX_FUZZ_RUNS=$${AGENTBOX_FUZZ_RUNS:-100000} vitest run --project fuzz

.PHONY: mutants
mutants: $(STAMP) ## Plant each bug of a list and see that a test notices (ONLY=text; ten minutes; docs/mutants.md)
	@$(NODE_PACKAGES)
	@node test/mutants/run.ts $(if $(ONLY),--only="$(ONLY)")

.PHONY: mutants-sample
mutants-sample: $(STAMP) ## Some of these bugs, others with each commit (a minute)
	@$(NODE_PACKAGES)
	@node test/mutants/run.ts --sample=7

.PHONY: simulate
simulate: $(STAMP) ## 10,000 simulated lives of the whole control plane, with faults, on all cores (two of them: twenty minutes)
	@node test/simulation/run.ts --runs 10000

.PHONY: load-test
load-test: $(STAMP) ## 50 users of real sandboxes for 10 minutes while the server is killed every 20 s (needs root)
	@$(NODE_PACKAGES)
	@node test/load/run.ts --users 50 --minutes 10 --kill-every 20

# What making a Debian takes; the other images come from what is here already.
IMAGE_PACKAGES := $(if $(AS_ROOT),tools/setup.sh packages debootstrap=debootstrap,true)

.PHONY: images
images: $(STAMP) ## Build the container images and push them: REGISTRY=host:port, also TAG= IMAGES= OUTPUT= (docs/container-images.md)
	@$(NODE_PACKAGES)
	@$(IMAGE_PACKAGES)
	@node tools/build-images.ts $(if $(REGISTRY),--registry="$(REGISTRY)") $(if $(TAG),--tag="$(TAG)") $(if $(IMAGES),--images="$(IMAGES)") $(if $(OUTPUT),--output="$(OUTPUT)") $(if $(CREDENTIALS),--credentials="$(CREDENTIALS)") $(if $(REGISTRIES),--registries="$(REGISTRIES)") $(if $(BASE_PACKAGES),--base-packages="$(BASE_PACKAGES)")

.PHONY: generate
generate: $(STAMP) ## Write deploy/crds, docs/openapi.json and the SDKs from src, the shapes of Kubernetes' kinds, and the Grafana dashboard
	@node tools/generate-kubernetes-shapes.ts
	@node tools/generate-crds.ts
	@node tools/generate-openapi.ts
	@node tools/generate-sdks.ts
	@node tools/generate-dashboard.ts

.PHONY: kubernetes-shapes
kubernetes-shapes: $(STAMP) ## Record anew what the API server of test-kubernetes says of its kinds, and write what is generated from it
	@tools/kubernetes-bed/build.sh >/dev/null
	@node tools/record-kubernetes-shapes.ts

.PHONY: manifests
manifests: $(STAMP) ## Write deploy/manifests from the Helm chart
	@node tools/render-manifests.ts

.PHONY: check
check: lint types dead-code ## Lint, format, types, dead code, layer walls

.PHONY: lint
lint: $(STAMP) ## oxlint with type-aware rules and the layer walls, and the formatter's check
	@oxlint --type-aware --deny-warnings
	@oxfmt --check .

.PHONY: format
format: $(STAMP) ## Format all files
	@oxfmt .

.PHONY: types
types: $(STAMP) ## Type check
	@tsc -p .
	@tsc -p src/dashboard

.PHONY: dead-code
dead-code: $(STAMP) ## Find files, exports and dependencies that nobody uses
	@knip
