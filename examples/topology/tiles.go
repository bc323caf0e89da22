package main

import (
	"fmt"
	"strings"
)

// tiles draws all nodes small: of each hue one path holds the ticks of all devices.
func (c *canvas) tiles() {
	const free, lost = len(hues), len(hues) + 1
	var frames, fresh strings.Builder
	var ticks [len(hues) + 2]strings.Builder
	for _, b := range c.nodes {
		fmt.Fprintf(&frames, "M%d %dh%dv%dh-%dz", b.x, b.y, b.w, b.h, b.w)
		for d := range b.devices {
			x := b.x + tilePadding + d%widestTile*(tickWidth+1)
			y := b.y + tilePadding + d/widestTile*(tickHeight+1)
			hue := free
			switch parts := b.devices[d].parts; {
			case b.tag() != "" || b.node.Devices[d].Unhealthy:
				hue = lost
			case len(parts) > 0:
				hue = parts[0].of.colour % len(hues)
				if parts[0].fresh {
					fmt.Fprintf(&fresh, "M%d %dh%d", x, y+tickHeight-1, tickWidth)
				}
			}
			fmt.Fprintf(&ticks[hue], "M%d %dh%dv%dh-%dz", x, y, tickWidth, tickHeight, tickWidth)
		}
	}
	c.put(`<path class="nd" style="stroke-width:1" d="%s"/>`, frames.String())
	for hue := range hues {
		if ticks[hue].Len() > 0 {
			c.put(`<path class="c%d" d="%s"/>`, hue, ticks[hue].String())
		}
	}
	c.put(`<path class="g" style="stroke-width:1" d="%s"/>`, ticks[free].String())
	c.put(`<path class="x" style="stroke-width:1" d="%s"/>`, ticks[lost].String())
	c.put(`<path class="new" style="stroke-width:2" d="%s"/>`, fresh.String())
}
