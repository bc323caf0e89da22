package openb

import (
	"os"
	"path/filepath"
)

// The original files that tests read, where they are.
const (
	NodeList = "openb_node_list_gpu_node.csv.gz"
	PodList  = "openb_pod_list_default.csv.gz"
)

// Folder finds the original files: ../shared/data/openb seen from the repository, or
// what OPENB_DATA names. It is empty if they are not there.
func Folder() string {
	if folder := os.Getenv("OPENB_DATA"); folder != "" {
		return folder
	}
	at, err := os.Getwd()
	for err == nil && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		folder := filepath.Join(at, "shared", "data", "openb")
		if _, err := os.Stat(folder); err == nil {
			return folder
		}
	}
	return ""
}
