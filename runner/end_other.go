//go:build !unix

package runner

import "context"

// EndSurvivors can end nothing here: there are no process groups.
func EndSurvivors(_ context.Context, survivors []Survivor) []Survivor { return survivors }
