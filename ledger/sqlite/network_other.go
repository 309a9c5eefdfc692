//go:build !linux && !darwin

package sqlite

// detectNetworkFS doesn't know here.
func detectNetworkFS(string) (string, error) { return "", nil }
