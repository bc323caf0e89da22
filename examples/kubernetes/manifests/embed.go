// Package manifests has what is applied to a cluster: the kinds of object (generated from
// ../api), the scheduler's role (generated from ../main.go) and its deployment.
package manifests

import _ "embed"

// Queues and Pools are the CustomResourceDefinitions, Role is the scheduler's.
var (
	//go:embed allotsched.github.io_queues.yaml
	Queues []byte
	//go:embed allotsched.github.io_pools.yaml
	Pools []byte
	//go:embed role.yaml
	Role []byte
)
