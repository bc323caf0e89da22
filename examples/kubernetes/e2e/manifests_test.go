package e2e

import (
	"bytes"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/allotsched/allot/examples/kubernetes/internal/controlplane"
)

// objects are those of a manifest.
func objects(t *testing.T, name string) (list []client.Object) {
	t.Helper()
	text, err := os.ReadFile("../manifests/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range bytes.Split(text, []byte("\n---\n")) {
		o := new(unstructured.Unstructured)
		if err := yaml.UnmarshalStrict(one, &o.Object); err != nil {
			t.Fatal(err)
		}
		if ns := o.GetKind(); ns == "Pod" || ns == "PodGroup" {
			o.SetNamespace("default")
		}
		list = append(list, o)
	}
	return list
}

// README's example runs, and the deployment is what the API server takes.
func TestManifests(t *testing.T) {
	w := newWorld(t)
	if err := controlplane.AddNodes(w.ctx, w.client, 4); err != nil {
		t.Fatal(err)
	}
	w.scheduler("-verify")
	w.create(objects(t, "gang.yaml")...)
	w.runs(members("train", 4)...)
	for _, o := range objects(t, "deployment.yaml") {
		if err := w.client.Create(w.ctx, o, client.DryRunAll, client.FieldValidation("Strict")); client.IgnoreAlreadyExists(err) != nil && o.GetNamespace() == "" {
			t.Error(err) // the others need the namespace, which a dry run does not make
		}
	}
}
