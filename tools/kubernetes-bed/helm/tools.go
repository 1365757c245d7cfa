//go:build tools

// Package tools names the command that build.sh compiles, so that go.sum covers it.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
