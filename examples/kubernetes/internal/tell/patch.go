package tell

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
)

// jsonText is plain data as JSON, which it always has.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// conditionPatch replaces one condition of a pod and leaves the others: strategic patches
// merge conditions by type.
func conditionPatch(p *corev1.Pod) client.Patch {
	text := jsonText(map[string]any{"status": map[string]any{"conditions": p.Status.Conditions}})
	return client.RawPatch(types.StrategicMergePatchType, []byte(text))
}

// conditionReason is a code of Allot's as conditions write reasons: over-quota is OverQuota.
func conditionReason(code string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(code, "-") {
		if word != "" {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

// withoutTimes is a status without what only says when it was written.
func withoutTimes(status any) any {
	clean := func(list []metav1.Condition) []metav1.Condition {
		out := make([]metav1.Condition, len(list))
		copy(out, list)
		for i := range out {
			out[i].LastTransitionTime = metav1.Time{}
		}
		return out
	}
	switch s := status.(type) {
	case v1alpha1.QueueStatus:
		s.Conditions = clean(s.Conditions)
		return s
	case v1alpha1.PoolStatus:
		s.Conditions = clean(s.Conditions)
		return s
	}
	return status
}

// acceptedKind tells whether an object was accepted: news of that are not put off.
func acceptedKind(status any) string {
	var list []metav1.Condition
	switch s := status.(type) {
	case v1alpha1.QueueStatus:
		list = s.Conditions
	case v1alpha1.PoolStatus:
		list = s.Conditions
	}
	kind := "status"
	for _, c := range list {
		kind += string(c.Status) + c.Message
	}
	return kind
}
