// Package controlplane runs a real control plane of Kubernetes on this machine, for tests
// and for trying things out: etcd, kube-apiserver and KWOK, which plays the kubelets of
// nodes that are only objects.
//
// The programs are built from Go modules, at the versions in the nested module controlplane
// (../../controlplane/go.mod): some minutes of CPU the first time, seconds afterwards.
// Nothing needs root or containers. Everything listens on free ports of loopback and ends
// with [Plane.Stop], or with the program that started it.
//
// No controllers run but those of the API server itself: nobody makes pods of Jobs, collects
// the pods of nodes that are gone or copies service accounts into namespaces, so [Start]
// makes the default one.
package controlplane
