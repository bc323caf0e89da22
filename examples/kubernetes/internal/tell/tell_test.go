package tell

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
)

// lawful is what the API server takes as the reason of a condition.
var lawful = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// Every code of Allot's can be the reason of a condition.
func TestConditionReasons(t *testing.T) {
	known := 0
	for code := allot.Code(1); code != 0; code++ {
		text := code.String()
		if strings.Contains(text, "(") {
			continue // no code of this number
		}
		known++
		if reason := conditionReason(text); !lawful.MatchString(reason) {
			t.Errorf("%s becomes %s", text, reason)
		}
	}
	if known < 20 {
		t.Errorf("only %d codes are known", known)
	}
	if got := conditionReason("impossible-domain"); got != "ImpossibleDomain" {
		t.Error(got)
	}
}

// What was told is told again only when it is otherwise; numbers alone wait.
func TestNothingIsToldTwice(t *testing.T) {
	pg := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "g"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "g-0", UID: "1"}}
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(pg, pod).WithStatusSubresource(pg, pod).Build()
	recorder := events.NewFakeRecorder(100)
	r := &Reporter{Client: c, Events: recorder, Log: slog.New(slog.DiscardHandler), Refresh: time.Hour, Most: 100, told: make(map[string]telling)}
	news := func(capacity int64) *News {
		snapshot, err := allot.NewSnapshot(&allot.State{
			Nodes:     []allot.Node{{ID: "n1", Devices: make([]allot.Device, capacity)}},
			Workloads: []allot.Workload{{ID: "team/g", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 8}}}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		d, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		return &News{Decision: d, View: &mirror.View{
			Pods: map[string][]*corev1.Pod{"team/g": {pod}}, PodGroups: map[string]*schedulingv1alpha2.PodGroup{"team/g": pg},
			Mine: func(string) bool { return true },
		}}
	}
	told := func() (list []string) {
		for len(recorder.Events) > 0 {
			list = append(list, <-recorder.Events)
		}
		return list
	}
	r.round(t.Context(), news(4))
	if got := told(); len(got) != 2 {
		t.Errorf("the group and its pod are told %q", got)
	}
	now := new(schedulingv1alpha2.PodGroup)
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(pg), now); err != nil {
		t.Fatal(err)
	}
	if len(now.Status.Conditions) != 1 || !lawful.MatchString(now.Status.Conditions[0].Reason) {
		t.Errorf("conditions %v", now.Status.Conditions)
	}
	r.round(t.Context(), news(4))
	if behind := r.round(t.Context(), news(5)); !behind {
		t.Error("that a number is otherwise is forgotten")
	}
	if got := told(); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
	r.round(t.Context(), news(8))
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(pg), now); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(now.Status.Conditions, func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue }) {
		t.Errorf("conditions of what runs: %v", now.Status.Conditions)
	}
}
