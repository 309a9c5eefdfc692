// Package dbtest gives tests real databases: it starts one throwaway
// PostgreSQL and one throwaway MariaDB for a test process, when a test first
// asks, and a fresh database for each test.
//
// The servers listen on a socket in a temporary folder only, run as an
// ordinary user, and go away with the test process however that ends: a small
// shell holds them, and stops them when the pipe from the test closes. So no
// TestMain has to call anything. Children of the test process share its
// servers, which they find in the environment; by the same variables a test
// can be pointed at a server of one's own.
//
// Where a server isn't installed, the test is skipped with a word on it, and
// fails instead with RUNNER_REQUIRE_DATABASES=1.
//
// Only tests import it. It imports the drivers and nothing of this project.
package dbtest
