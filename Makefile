VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X runner/cmd.version=$(VERSION)
BUILD   := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'

.DEFAULT_GOAL := help
.PHONY: help build install demo test check soak lint bench bench-go dist

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/runner
	$(BUILD) -o bin/runner .

install: ## install runner into $GOBIN, else $GOPATH/bin
	CGO_ENABLED=0 go install -trimpath -ldflags '$(LDFLAGS)' .

demo: build ## show what runner does, in a folder of its own
	bash demo/demo.sh

test: ## run the tests
	go test ./...

check: ## run all that CI runs: format, vet, cross builds, lint, tests with -race
	bash .ci/run

SOAK ?= 20m
soak: ## kill runs for SOAK=20m, and say how many kills, records, effects, doubles and losses there were
	cd crash && go test -count 1 -timeout 0 -parallel 4 -run 'HoweverItIsKilled|AtAnySystemCall' -crash.for $(SOAK)

lint: ## run golangci-lint
	bash .ci/run lint

dist: ## build archives for 6 platforms, deb and rpm into dist/, and test them
	bash .ci/run dist

bench: build ## measure against xargs, parallel and make, 15 minutes; SHORT=1 only tries it, PARTS=a,c some
	go run ./bench -runner bin/runner $(if $(SHORT),-short) $(if $(PARTS),-parts $(PARTS))

bench-go: ## run the benchmarks of single packages
	go test -run '^$$' -bench . -benchmem ./...
