# Targets: make help
SHELL := /bin/bash
GO ?= go
BIN := .cache/bin
GOLANGCI_LINT := $(BIN)/golangci-lint-2.15.0
SHARED := ../shared

.PHONY: help
help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## Build ./docseek
	CGO_ENABLED=0 $(GO) build -trimpath -o docseek ./cmd/docseek

.PHONY: check
check: fmt vet lint race generated cross ## All that must pass before a commit

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Check the format
	@out=$$($(GOLANGCI_LINT) fmt --diff); if [[ -n $$out ]]; then echo "$$out"; echo "run: make format"; exit 1; fi

.PHONY: format
format: $(GOLANGCI_LINT) ## Format all files
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## go vet, assembly declarations included
	$(GO) vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters
	$(GOLANGCI_LINT) run

.PHONY: race
race: ## All tests under the race detector
	$(GO) test -race -timeout 20m ./...

.PHONY: generated
generated: ## Generated files are what their generators make, and go.mod is tidy
	$(GO) mod tidy -diff
	scripts/generated.sh

.PHONY: cross
cross: ## Build for every platform
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null ./cmd/docseek || { echo "$$p does not build"; exit 1; }; done

.PHONY: arm64
arm64: ## The kernels for arm64 in an emulator, with and without dot products
	scripts/arm64.sh

.PHONY: avxvnni
avxvnni: ## The kernel for AVX-VNNI, its instruction emulated (Linux on amd64)
	mkdir -p .cache/avxvnni
	$(GO) build -o .cache/avxvnni/run ./scripts/avxvnni
	$(GO) test -c -o .cache/avxvnni/kernel.test ./embed/encoder/internal/kernel
	DOCSEEK_TEST_AVXVNNI=1 .cache/avxvnni/run .cache/avxvnni/kernel.test -test.v -test.run 'Linear|Levels|Quantize|Select'

.PHONY: bench-ort
bench-ort: ## The builtin model's speed beside ONNX Runtime's
	scripts/bench-ort.sh

.PHONY: check-openai
check-openai: ## Index and search with a real embeddings server, ONNX Runtime's
	onnx=$$(scripts/ort.sh) && DOCSEEK_TEST_ONNX=$$onnx $(GO) test -count=1 -tags ort -run OnARealServer ./cmd/docseek

.PHONY: chromium
chromium: ## The web page in a real browser, which is installed if need be
	scripts/chromium.sh
	$(GO) test -count=1 -tags chromium -run InBrowser ./cmd/docseek

.PHONY: conformance
conformance: build ## The official MCP clients and conformance suite against the binary
	scripts/conformance/binary.sh ./docseek
	scripts/conformance/requirements.sh

.PHONY: inspector
inspector: build ## The official MCP Inspector against the binary, after make conformance (111 MB)
	scripts/conformance/inspector/run.sh ./docseek

.PHONY: qdrant
qdrant: ## The store on real Qdrant servers, the oldest supported and the newest
	@for v in 1.16.3 1.17.0; do \
	  scripts/qdrant.sh $$v && DOCSEEK_TEST_QDRANT_VERSION=$$v $(GO) test -count=1 -tags qdrant -timeout 15m ./search/qdrant/... && \
	  scripts/qdrant.sh $$v $(GO) test -count=1 -tags qdrant -run 'TestQdrant' ./cmd/docseek || exit 1; done

.PHONY: check-deploy
check-deploy: build ## The files of deploy/ by the programs that read them
	scripts/check-deploy.sh ./docseek

.PHONY: check-models
check-models: ## Local models on published weights (downloads 160 MB; needs Maven)
	scripts/check-models/run.sh

.PHONY: bench-stores
bench-stores: ## What the stores take at 100,000 chunks, and Qdrant beside its bare client
	$(GO) test -run '^$$' -bench . ./search/local
	scripts/qdrant.sh 1.17.0
	$(GO) test -tags qdrant -run '^$$' -bench Upload -benchtime 2x -timeout 1h ./search/qdrant
	$(GO) test -tags qdrant -run '^$$' -bench 'Search|Sources|Change' -benchtime 300x -timeout 1h ./search/qdrant

.PHONY: bench-growth
bench-growth: ## A million chunks on Qdrant, quantised and on disk (10 GB of disk, hours on a busy machine)
	scripts/qdrant.sh 1.17.0
	DOCSEEK_BENCH_CHUNKS=1000000 $(GO) test -tags qdrant -run '^$$' -bench Growth -benchtime 300x -timeout 0 -v ./search/qdrant

.PHONY: check-shared
check-shared: build ## Small real sites and the conformance suite (needs ../shared)
	scripts/check-shared.sh $(SHARED)

.PHONY: check-long
check-long: build ## The large real sites, their questions, load and fuzz (needs ../shared)
	scripts/check-long.sh $(SHARED)

$(GOLANGCI_LINT):
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	mv $(BIN)/golangci-lint $@
