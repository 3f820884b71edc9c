// Package language pins the last published Go module that carries Pulumi's
// Python language host.
package language

import _ "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
