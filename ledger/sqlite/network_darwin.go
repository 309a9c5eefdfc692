package sqlite

import (
	"strings"

	"golang.org/x/sys/unix"
)

func detectNetworkFS(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", err
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	switch {
	case name == "nfs", name == "smbfs", name == "afpfs", name == "webdav", name == "cifs",
		name == "9p", name == "virtiofs", name == "acfs",
		strings.Contains(name, "fuse"):
		return name, nil
	}
	return "", nil
}
