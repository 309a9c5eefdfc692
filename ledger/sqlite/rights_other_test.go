//go:build !linux

package sqlite

const envOpen = "SQLITE_TEST_OPEN"

func openChild() {}
