package topology

import (
	"fmt"
	"strings"
)

// mostSheets is how many nodes the boxes have together that a page shows by themselves:
// a node takes about 3 KB. Of more the first ones are shown.
const mostSheets = 2500

// zoomable is a page with the summary, where a click on a box shows it with every
// device. full is the same scene, not summarised.
func (s *scene) zoomable(full *scene, o *Options) string {
	leaves := full.root.leaves()
	s.sheets = make(map[string]int, len(leaves))
	nodes := 0
	var sheets strings.Builder
	for i, b := range leaves {
		if nodes += len(b.nodes); nodes > mostSheets {
			break
		}
		s.sheets[b.path()] = i
		cluster, height := full.drawSheet(b)
		title := strings.TrimSpace(b.level + " " + b.path())
		fmt.Fprintf(&sheets, "<section class=\"sheet\" id=\"sheet-%d\"><p><a href=\"#cluster\">Back to the cluster</a></p>\n<h2>%s</h2>\n%s<details><summary>Who is who</summary>%s</details></section>\n",
			i, escape(title), svg(title, columnWidth, height, cluster), full.names(b))
	}
	cluster, height := s.drawCluster(o.Title)
	legend, legendHeight := s.drawLegend()
	return page(o.Title, o.Nav, "<div class=\"zoom\" id=\"cluster\"><p class=\"hint\">A click on a box shows it with every GPU.</p>\n"+svg(o.Title, columnWidth, height, style()+cluster)+"</div>\n",
		"<div class=\"beside\">"+sheets.String()+svg("The workloads", columnWidth, legendHeight, legend)+"</div>\n")
}
