// Package engine pins the Pulumi engine so that it can be built from the Go
// module proxy where the official release binaries cannot be fetched.
package engine

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
