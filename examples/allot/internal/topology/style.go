package topology

import (
	"fmt"
	"strings"
)

// A hue is a colour of workloads: how devices are filled, the letter on them, and
// the lines, for which light and dark grounds need colours of their own.
type hue struct{ fill, letter, onLight, onDark string }

// hues are those of Okabe and Ito, which colour-blind people tell apart, and a
// wine red; letters tell apart what stripes and hues do not.
var hues = [...]hue{
	{"#56b4e9", "#111", "#1f86c4", "#56b4e9"},
	{"#e69f00", "#111", "#b87f00", "#f0b43c"},
	{"#009e73", "#111", "#00845f", "#1fc79a"},
	{"#cc79a7", "#111", "#b3568a", "#e39bc3"},
	{"#0072b2", "#fff", "#0072b2", "#4aa3dc"},
	{"#f0e442", "#111", "#8f8600", "#f0e442"},
	{"#d55e00", "#111", "#c55600", "#ff8a3d"},
	{"#882255", "#fff", "#882255", "#d4689f"},
}

// style is the sheet of the picture. Widths are in its units.
func style() string {
	var b strings.Builder
	b.WriteString(`<style>
svg{color-scheme:light dark;background:#fff;font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
text{fill:#1c2126}.q{fill:#57606a}.t{font-size:36px;font-weight:700}.s{font-size:27px;font-weight:700}.b{font-size:25px;font-weight:600}.p{font-size:23px}
.d{font-size:24px;font-weight:700}.i{font-size:20px}.n{font-size:20px;font-weight:600}.k{font-size:22px;font-weight:700;text-anchor:middle}.m{font-size:15px;font-weight:700;text-anchor:middle}.z{font-size:12px;font-weight:700;text-anchor:middle}
a:hover>.f0,a:hover>.f1{stroke:#0072b2;stroke-width:5}.v{font-size:18px;font-weight:700;text-anchor:middle}.e{text-anchor:end}.c{text-anchor:middle}
.f0{fill:#f3f5f7;stroke:#aab3bd;stroke-width:2}.f1{fill:#e8ecf0;stroke:#aab3bd;stroke-width:2}.nd{fill:#fff;stroke:#8c96a1;stroke-width:2}
.off{stroke-dasharray:8 6}.g{fill:#fff;stroke:#6e7781;stroke-width:2}.o{fill:none;stroke:#1c2126;stroke-opacity:.45;stroke-width:2}
.new{fill:none;stroke:#1c2126;stroke-width:4}.ch{stroke:#111;stroke-opacity:.5;stroke-width:1.5}.tri{fill:#c1121f;stroke:#fff;stroke-width:2}.x{fill:none;stroke:#c1121f;stroke-width:4;stroke-linecap:round}
.h{fill:none;stroke:#6e7781;stroke-width:3}.st{fill:none;stroke:#111;stroke-opacity:.38;stroke-width:3}
.l{fill:none;stroke:#a3adb8;stroke-width:2}.l2{stroke-width:4}.dn{stroke:#c1121f;stroke-dasharray:4 4}.lit{stroke-width:6;stroke-linecap:round;stroke-linejoin:round}.r{fill:none;stroke-width:6;stroke-linecap:round;stroke-linejoin:round}.w{fill:none;stroke:#6e7781;stroke-width:3;stroke-dasharray:5 5}
`)
	for i, h := range hues {
		fmt.Fprintf(&b, ".c%d{fill:%s}.k%d{fill:%s}.r%d{stroke:%s}\n", i, h.fill, i, h.letter, i, h.onLight)
	}
	b.WriteString(`@media (prefers-color-scheme:dark){
svg{background:#0f1318}text{fill:#e8ecf0}.q{fill:#a5b0bb}
.f0{fill:#171c22;stroke:#4a545f}.f1{fill:#20272f;stroke:#4a545f}.nd{fill:#0f1318;stroke:#65707c}
.g{fill:#0f1318;stroke:#8c96a1}.o{stroke:#fff;stroke-opacity:.35}.new{stroke:#fff}.tri{fill:#ff6b6b;stroke:#0f1318}.x{stroke:#ff6b6b}.h{stroke:#8c96a1}.l{stroke:#56616d}.dn{stroke:#ff6b6b}.w{stroke:#a5b0bb}
`)
	for i, h := range hues {
		fmt.Fprintf(&b, ".k%d{fill:%s}.r%d{stroke:%s}", i, h.letter, i, h.onDark)
	}
	b.WriteString("\n}\n</style>\n")
	return b.String()
}
