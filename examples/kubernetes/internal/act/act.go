// Package act asks the API server for what was decided: it binds, nominates and evicts.
//
// An order may be asked for any number of times, by any number of schedulers: a pod is bound
// once and by its UID, a claim is allocated once, a pod is deleted once. So whatever is not
// known to have happened is asked for again, with growing pauses, until it is known. Only what
// is known not to happen any more ends with an error: a pod that is gone or bound elsewhere, a
// claim that others hold, an eviction that a PodDisruptionBudget forbids for too long. No
// timeout frees a place.
package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
)

// An Actor carries orders out. Its fields are set before it is used.
type Actor struct {
	Client client.Client
	// Live reads past the cache.
	Live   client.Reader
	Events events.EventRecorder
	// Done is told what became of each order; the pod is as it was read after a failure,
	// nil if there was no need.
	Done func(o mirror.Order, live *corev1.Pod, err error)
	// Patience is for how long a budget may forbid an eviction.
	Patience time.Duration
	// Workers is how many requests may be under way.
	Workers int
	// Fence ends the work of a program that was paused for so long: another replica may have
	// taken its lease meanwhile. 0 does not.
	Fence time.Duration

	lock  sync.Mutex
	ready []job // to be asked for now
	later []job // to be asked for again, the first that is due first
	wake  chan struct{}
	once  sync.Once
	awake atomic.Pointer[time.Time] // when it last was
}

// A job is an order that is asked for, since when, when again, and how long after that.
type job struct {
	order      mirror.Order
	began, due time.Time
	pause      time.Duration
}

// Send has orders carried out, those that come first first.
func (a *Actor) Send(orders []mirror.Order) {
	a.init()
	a.lock.Lock()
	for i := range orders {
		a.ready = append(a.ready, job{order: orders[i], began: time.Now(), pause: firstPause})
	}
	a.lock.Unlock()
	a.rouse()
}

// The pauses between attempts grow from the first to the longest.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 2 * time.Second
)

// again has an order asked for once more, after a pause in which nobody waits for it.
func (a *Actor) again(j job) {
	j.due = time.Now().Add(j.pause)
	j.pause = min(2*j.pause, longestPause)
	a.lock.Lock()
	at, _ := slices.BinarySearchFunc(a.later, j.due, func(other job, due time.Time) int { return other.due.Compare(due) })
	a.later = slices.Insert(a.later, at, j)
	a.lock.Unlock()
	a.rouse()
}

func (a *Actor) init() { a.once.Do(func() { a.wake = make(chan struct{}, 1) }) }

func (a *Actor) rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// ErrPaused says that the program was paused for longer than the fence allows.
var ErrPaused = errors.New("the program was paused, and another may lead now")

// paused says whether the program has just gone on after a pause. Whoever asks first ends it
// for all: nothing is sent before it is asked.
func (a *Actor) paused() bool {
	last := a.awake.Load()
	return a.Fence > 0 && (last == nil || time.Since(*last) > a.Fence)
}

// keepAwake notes, often, that the program is not paused, until it was or the context ends.
func (a *Actor) keepAwake(ctx context.Context) {
	tick := time.NewTicker(a.Fence / 20)
	defer tick.Stop()
	for !a.paused() {
		now := time.Now()
		a.awake.Store(&now)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Run works until the context ends, or the program was paused. What is not carried out by
// then is the next one's.
func (a *Actor) Run(ctx context.Context) error {
	a.init()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	if a.Fence > 0 {
		now := time.Now()
		a.awake.Store(&now)
		all.Go(func() {
			a.keepAwake(ctx)
			if ctx.Err() == nil {
				stop(ErrPaused)
			}
		})
	}
	for range a.Workers {
		all.Go(func() {
			for {
				j, ok := a.next(ctx)
				if !ok {
					return
				}
				if a.paused() {
					stop(ErrPaused)
					return
				}
				switch live, err := a.do(ctx, &j); {
				case ctx.Err() != nil:
					return
				case errors.Is(err, errAgain):
					a.again(j)
				default:
					a.Done(j.order, live, err)
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrPaused) {
		return err
	}
	return nil
}

// next waits for an order that is due.
func (a *Actor) next(ctx context.Context) (job, bool) {
	for {
		j, ok, pause := a.take()
		if ok {
			return j, true
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return job{}, false
		case <-a.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// take is an order that is due, if there is one, or for how long there is none.
func (a *Actor) take() (j job, ok bool, pause time.Duration) {
	a.lock.Lock()
	defer a.lock.Unlock()
	due, _ := slices.BinarySearchFunc(a.later, time.Now(), func(other job, now time.Time) int { return other.due.Compare(now) })
	a.ready = append(a.ready, a.later[:due]...)
	a.later = slices.Delete(a.later, 0, due)
	if len(a.ready) == 0 {
		if len(a.later) == 0 {
			return job{}, false, time.Minute
		}
		return job{}, false, time.Until(a.later[0].due)
	}
	j = a.ready[0]
	a.ready = a.ready[1:]
	if len(a.ready) > 0 {
		a.rouse()
	}
	return j, true, 0
}

// errTaken says that a claim has been given other devices, or is of others.
var errTaken = errors.New("the ResourceClaim is not this pod's to allocate any more")

// errAgain says that it is not known what becomes of an order, and that it is to be asked
// for again.
var errAgain = errors.New("to be asked for again")

// do asks for an order once, and says what became of it: done, failed for good, or [errAgain].
func (a *Actor) do(ctx context.Context, j *job) (live *corev1.Pod, err error) {
	o := &j.order
	err = a.try(ctx, o)
	switch {
	case err == nil:
		return nil, nil
	case unclear(err):
	case apierrors.IsTooManyRequests(err):
		if o.Kind == mirror.Evict && time.Since(j.began) > a.Patience {
			return nil, err
		}
	case o.Kind == mirror.Claim || o.Kind == mirror.Unclaim:
		return nil, nil // a nomination is for others to see: the mirror has it
	default:
		if live, settled, known := a.look(ctx, o); settled {
			return live, nil
		} else if known {
			return live, err
		}
	}
	return nil, errAgain
}

// unclear says whether a request may have been carried out all the same, or may be when it is
// sent again.
func unclear(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !errors.Is(err, errTaken)
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsUnauthorized(err)
}

// look reads a pod and says whether it is as was asked for, if that can be known.
func (a *Actor) look(ctx context.Context, o *mirror.Order) (live *corev1.Pod, settled, known bool) {
	live = new(corev1.Pod)
	switch err := a.Live.Get(ctx, client.ObjectKeyFromObject(o.Pod), live); {
	case apierrors.IsNotFound(err), err == nil && live.UID != o.Pod.UID:
		return nil, o.Kind == mirror.Evict, true // the watch will tell that it is gone
	case err != nil:
		return nil, false, false
	case o.Kind == mirror.Evict:
		return live, live.DeletionTimestamp != nil, true
	}
	return live, live.Spec.NodeName == o.Node, true
}

// try asks for an order once.
func (a *Actor) try(ctx context.Context, o *mirror.Order) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Pod.Namespace, Name: o.Pod.Name, UID: o.Pod.UID}}
	switch o.Kind {
	case mirror.Bind:
		if err := a.allocate(ctx, o); err != nil {
			return err
		}
		return a.Client.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: o.Node},
		})
	case mirror.Evict:
		return a.evict(ctx, pod, o)
	}
	node := o.Node // of an Unclaim it is empty
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"nominatedNodeName":%q}}`, pod.UID, node)
	return a.Client.SubResource("status").Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// evict asks a pod to leave in its own time, and says for whom and why: to its container
// runtime, to who watches it, and to its disruption budgets. The note comes first, so that
// nobody sees a pod that leaves without a reason.
func (a *Actor) evict(ctx context.Context, pod *corev1.Pod, o *mirror.Order) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{v1alpha1.EvictedFor: o.For + ": " + o.Why},
	}})
	if err != nil {
		return err
	}
	if err := a.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	err = a.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.Pod.UID}},
	})
	if err == nil {
		a.Events.Eventf(o.Pod, nil, corev1.EventTypeNormal, "Evicted", "Evicting", "%s", o.Why)
	}
	return err
}

// allocate gives the claims of a pod the devices of the plan, and reserves them for the pod.
// Claims that have them already, as this was asked for before, stay as they are.
func (a *Actor) allocate(ctx context.Context, o *mirror.Order) error {
	devices := o.Devices
	for _, known := range o.Claims {
		claim := new(resourcev1.ResourceClaim)
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(known), claim); err != nil {
			return err
		}
		if slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return c.UID != o.Pod.UID }) {
			return errTaken
		}
		results, rest, err := share(claim, devices)
		if err != nil {
			return err
		}
		devices = rest
		if claim.Status.Allocation != nil {
			if !slices.EqualFunc(claim.Status.Allocation.Devices.Results, results, sameDevice) {
				return errTaken
			}
			if len(claim.Status.ReservedFor) > 0 {
				continue
			}
		}
		if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
			claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
			if err := a.Client.Update(ctx, claim); err != nil {
				return retried(err)
			}
		}
		claim.Status.Allocation = &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: results},
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{o.Node}}},
			}}},
		}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: o.Pod.Name, UID: o.Pod.UID}}
		if err := a.Client.Status().Update(ctx, claim); err != nil {
			return retried(err)
		}
	}
	return nil
}

// errMeanwhile says that an object was written by others meanwhile, and is read again.
var errMeanwhile = errors.New("written by others meanwhile")

// retried has a conflict be tried again: it says nothing about the pod.
func retried(err error) error {
	if apierrors.IsConflict(err) {
		return errMeanwhile
	}
	return err
}

func sameDevice(a, b resourcev1.DeviceRequestAllocationResult) bool {
	return a.Request == b.Request && a.Driver == b.Driver && a.Pool == b.Pool && a.Device == b.Device
}

// share takes for each request of a claim as many devices as it asks for.
func share(claim *resourcev1.ResourceClaim, devices []read.Device) (results []resourcev1.DeviceRequestAllocationResult, rest []read.Device, err error) {
	for i := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[i]
		n := 1
		if r.Exactly != nil && r.Exactly.Count > 0 {
			n = int(r.Exactly.Count)
		}
		if n > len(devices) {
			return nil, nil, errTaken
		}
		for _, d := range devices[:n] {
			results = append(results, resourcev1.DeviceRequestAllocationResult{Request: r.Name, Driver: d.Driver, Pool: d.Pool, Device: d.Name})
		}
		devices = devices[n:]
	}
	return results, devices, nil
}
