//go:build !linux && !darwin

package runner

func bootID() string { return "" }
