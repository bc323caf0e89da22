package allot
import ("testing")
func TestHarmGap(t *testing.T) {
	for seed := *harmSeed; seed < *harmSeed+uint64(*harmStates); seed++ {
		s, id := genHarm(seed)
		c := newHarmCase(s, id)
		if c.starts(0) { continue }
		if c.best() == nil {
			if l := c.exists(); l != nil { 
				p, _ := Solve(s)
				t.Logf("gap %d %v order %d short %v safe %b %b\n%s%s", seed, l, l.order, c.short, c.quotaSafe, c.shareSafe, HarmFormat(s), p.Text()) }
		}
	}
}
