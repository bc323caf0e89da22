package allot_test

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

func init() { allot.VerifyPlan = verify.Plan }
