package allot

// VerifyPlan is verify.Plan, which package verify cannot give to a test inside
// this package, as it imports this package: verify_test.go sets it.
var VerifyPlan func(*State, *Plan) error
