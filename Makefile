# Every target is a command that one could type; `make` alone lists them.

SHELL = /bin/sh

# Two packages at a time: most start servers of their own, and more of them
# than cores only makes each slower.
GO_TEST = CGO_ENABLED=1 go test -race -count=1 -p 2 -timeout 15m

CLI     = github.com/flashclaim/flashclaim/internal/cli
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  = $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

.PHONY: help
help: ## List the targets
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sort | awk -F ':.*## ' '{ printf "  make %-18s %s\n", $$1, $$2 }'

.PHONY: run
run: build ## Build and start everything in one process, with demo vouchers; needs Go and nothing else
	@exec ./bin/flashclaim dev $(ARGS)

.PHONY: build
build: ## Build bin/flashclaim, one static program
	CGO_ENABLED=0 go build -trimpath -ldflags '-X $(CLI).Version=$(VERSION) -X $(CLI).Commit=$(COMMIT)' -o bin/flashclaim ./cmd/flashclaim

.PHONY: test
test: ## Run every test with the race detector, on embedded and real servers
	scripts/test-deps
	$(GO_TEST) ./...

.PHONY: race
race: test ## The same as test, which always looks for races

.PHONY: e2e
e2e: ## Run the tests that claim, commit and notify through the front door
	scripts/test-deps
	$(GO_TEST) -v ./internal/e2e/...

.PHONY: bench
bench: ## Run the benchmarks (BENCH=regexp PKG=./worker to choose)
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -p 1 -timeout 60m $(or $(PKG),./...)

.PHONY: lint
lint: ## Check style and the usual mistakes
	go tool -modfile=tools/go.mod golangci-lint run ./...

.PHONY: format
format: ## Format the code as lint wants it
	go tool -modfile=tools/go.mod golangci-lint fmt

.PHONY: generate
generate: ## Generate ent/ and graph/ again from their schemas
	go generate ./...

.PHONY: verify
verify: generate ## Prove that generated code and go.mod are fresh; needs a committed tree
	go mod tidy -diff
	git diff --exit-code
	@new="$$(git status --porcelain)"; test -z "$$new" || { echo "not committed:"; echo "$$new"; exit 1; }

.PHONY: playground-assets
playground-assets: ## Fetch the pinned GraphiQL again (needs npm and the internet)
	sh server/playground/fetch.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
