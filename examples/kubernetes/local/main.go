// Command local runs a control plane of Kubernetes on this machine, without containers and
// without root, to try the scheduler out: etcd, kube-apiserver, KWOK and some nodes with
// GPUs that are only objects. It ends everything that it started when it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/allotsched/allot/examples/kubernetes/internal/controlplane"
)

func main() {
	nodes := flag.Int("nodes", 4, "how many nodes of 8 GPUs")
	folder := flag.String("folder", filepath.Join(os.TempDir(), "allot-local"), "where data, logs and kubeconfig go; what is there is deleted")
	kubectl := flag.Bool("kubectl", true, "build kubectl too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *folder, *nodes, *kubectl); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string, nodes int, kubectl bool) error {
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if kubectl {
		if _, err := controlplane.Build(ctx, say, "kubectl"); err != nil {
			return err
		}
	}
	plane, err := controlplane.Start(ctx, folder, say)
	if err != nil {
		return err
	}
	defer plane.Stop()
	if err := plane.Install(ctx); err != nil {
		return err
	}
	c, err := plane.Client()
	if err != nil {
		return err
	}
	if err := controlplane.AddNodes(ctx, c, nodes); err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s PATH=%s:$PATH\n", plane.Kubeconfig, plane.Bin)
	say("it runs until it is interrupted")
	<-ctx.Done()
	return nil
}
