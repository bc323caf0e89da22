package act

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
)

// What becomes of an order, by what the server answers and what is true then.
func TestOutcomes(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	timeout := apierrors.NewTimeoutError("lost", 1)
	for _, test := range []struct {
		name    string
		kind    mirror.Kind
		answers []error // the last one for ever
		boundTo string  // what the server has by the first answer on
		gone    bool
		fails   bool
		tries   int // at least
	}{
		{name: "done", kind: mirror.Bind, answers: []error{nil}, tries: 1},
		{name: "an answer that is lost is asked for again", kind: mirror.Bind, answers: []error{timeout, timeout, nil}, tries: 3},
		{name: "no status at all is no answer", kind: mirror.Bind, answers: []error{errors.New("connection reset"), nil}, tries: 2},
		{name: "it was bound by the request whose answer was lost", kind: mirror.Bind, answers: []error{timeout, apierrors.NewConflict(pods, "p", nil)}, boundTo: "n1", tries: 2},
		{name: "it was bound elsewhere", kind: mirror.Bind, answers: []error{apierrors.NewConflict(pods, "p", nil)}, boundTo: "n2", fails: true, tries: 1},
		{name: "it is gone", kind: mirror.Bind, answers: []error{apierrors.NewNotFound(pods, "p")}, gone: true, fails: true, tries: 1},
		{name: "who is gone has left", kind: mirror.Evict, answers: []error{apierrors.NewNotFound(pods, "p")}, gone: true, tries: 1},
		{name: "a budget forbids it for too long", kind: mirror.Evict, answers: []error{apierrors.NewTooManyRequests("budget", 1)}, fails: true, tries: 3},
		{name: "a budget forbids it for a while", kind: mirror.Evict, answers: []error{apierrors.NewTooManyRequests("budget", 1), nil}, tries: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock stands while anybody works
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "1"}}
				stored := p.DeepCopy()
				stored.Spec.NodeName = test.boundTo
				build := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
				if !test.gone {
					build = build.WithObjects(stored)
				}
				tries := 0
				c := build.WithInterceptorFuncs(interceptor.Funcs{
					Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
						return nil
					},
					SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
						answer := test.answers[min(tries, len(test.answers)-1)]
						tries++
						return answer
					},
				}).Build()
				a := &Actor{Client: c, Live: c, Events: events.NewFakeRecorder(9), Patience: 50 * time.Millisecond}
				j := job{order: mirror.Order{Kind: test.kind, Pod: p, Node: "n1"}, began: time.Now()}
				_, err := a.do(t.Context(), &j)
				for ; errors.Is(err, errAgain); _, err = a.do(t.Context(), &j) {
					time.Sleep(20 * time.Millisecond)
				}
				if (err != nil) != test.fails || tries < test.tries {
					t.Errorf("error %v after %d tries", err, tries)
				}
			})
		})
	}
}

// Orders that are asked for again and again keep no others waiting, and end with the context.
func TestWaitingKeepsNobody(t *testing.T) {
	forbidden := apierrors.NewTooManyRequests("budget", 1)
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return nil
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, kind string, _, _ client.Object, _ ...client.SubResourceCreateOption) error {
			if kind == "eviction" {
				return forbidden
			}
			return nil
		},
	}).Build()
	outcomes := make(chan mirror.Order, 10)
	a := &Actor{
		Client: c, Live: c, Events: events.NewFakeRecorder(9), Patience: 100 * time.Millisecond, Workers: 2,
		Done: func(o mirror.Order, _ *corev1.Pod, _ error) { outcomes <- o },
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		a.Run(ctx)
		close(ended)
	}()
	orders := make([]mirror.Order, 5)
	for i := range orders {
		orders[i] = mirror.Order{Kind: mirror.Evict, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "victim"}}}
	}
	orders[4].Kind = mirror.Bind
	a.Send(orders)
	if first := <-outcomes; first.Kind != mirror.Bind {
		t.Error("a bind waits for evictions that a budget forbids")
	}
	for range 4 {
		if o := <-outcomes; o.Kind != mirror.Evict {
			t.Errorf("%s came of an eviction", o.Kind)
		}
	}
	a.Send(orders[:4])
	stop()
	<-ended
}

// Who was paused sends nothing any more.
func TestFence(t *testing.T) {
	a := &Actor{Workers: 1, Fence: time.Hour}
	ended := make(chan error)
	go func() { ended <- a.Run(t.Context()) }()
	for a.awake.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	long := time.Now().Add(-2 * time.Hour)
	a.awake.Store(&long)
	a.Send([]mirror.Order{{Kind: mirror.Bind, Pod: &corev1.Pod{}}}) // without a client it would panic
	if err := <-ended; !errors.Is(err, ErrPaused) {
		t.Error(err)
	}
}
