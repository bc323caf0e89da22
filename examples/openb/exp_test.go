package main
import ("testing";"fmt";"time";"github.com/allotsched/allot")
func TestExp(t *testing.T){
 tr,err:=readTrace("","")
 if err!=nil {t.Fatal(err)}
 for _,l:=range []int{100,130}{ for _,pn:=range []string{"none","runai","determined-priority"} {
 pr:=presetOf(pn)
 pods:=tr.arriving(l)
 s:=buildState(tr.machines,pods,pr,pr.policy())
 t0:=time.Now()
 p,err:=allot.Solve(s)
 if err!=nil {t.Fatal(err)}
 d:=time.Since(t0); t0=time.Now()
 verr:=allot.Verify(s,p)
 r:=newReport(tr.machines,pods,p)
 fmt.Println(l,pn,d,time.Since(t0),"verify",verr,r.Placed,r.Waiting,r.GPU,float64(r.Placed.GPU)/float64(r.GPU))
 for _,m:=range r.Models{fmt.Printf("%+v\n",m)}
 for _,m:=range r.Reasons{fmt.Println(m.Code,m.Amount,m.Example.Queue,m.Example.Workload);for _,x:=range m.Example.Reasons{fmt.Println("    ",x.Code,x)}}
 q:=*p;q.Actions=nil;q.Pending=nil
 fmt.Println(q.Text(),p.Work)
 }}
}
