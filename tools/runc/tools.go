//go:build tools

// Package tools names the command that build.sh compiles, so that go.sum covers it.
package tools

import _ "github.com/opencontainers/runc"
