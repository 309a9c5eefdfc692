package main

import (
	"os"
	"os/exec"
	"strings"
)

// peerNames are programs, and the packages that have them.
var peerNames = [][2]string{{"xargs", "findutils"}, {"parallel", "parallel"}, {"make", "make"}}

// findPeers looks for what runner is compared with, and installs what is
// missing where it may. What is missing still is said, and skipped.
func (b *bench) findPeers() {
	b.peers, b.missing = map[string]string{}, map[string]string{}
	updated := false
	for _, p := range peerNames {
		name := p[0]
		if _, err := exec.LookPath(name); err != nil {
			b.install(p[1], &updated)
		}
		path, err := exec.LookPath(name)
		switch {
		case err != nil:
			b.missing[name] = name + " is missing"
		case name == "parallel" && !strings.Contains(text(path, "--version"), "GNU parallel"):
			b.missing[name] = path + " is not GNU parallel"
		default:
			b.peers[name] = path
		}
		if why := b.missing[name]; why != "" {
			b.say("%s: what needs it is skipped", why)
		}
	}
}

func (b *bench) install(name string, updated *bool) {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return
	}
	b.say("install %s", name)
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	if !*updated {
		*updated = true
		if _, err := b.do(command{env: env, argv: []string{"apt-get", "update", "-q"}}); err != nil {
			b.say("%v", err)
		}
	}
	if _, err := b.do(command{env: env, argv: []string{"apt-get", "install", "-q", "-y", "--no-install-recommends", name}}); err != nil {
		b.say("%v", err)
	}
}

// lacks says why a peer can't be used, or "".
func (b *bench) lacks(name string) string { return b.missing[name] }
