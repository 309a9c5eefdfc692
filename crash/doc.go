// Package crash proves the promise of the product by breaking what can break:
// it kills, stops and starves the real program, and then compares what the
// ledger says with what the actions did. It holds tests only.
//
// It has a folder of its own because it is about the whole program and not
// about any package: it drives main's cmd.Main as a process of its own, through
// nothing but flags, files and signals. Of the other packages it imports cmd
// alone. It reads ledgers with plain SQL and journals as text, so that a bug in
// the code that writes them can't hide itself.
//
//	go test ./crash                      a few hundred kills
//	go test ./crash -crash.seed N        the same lives again
//	make soak SOAK=20m                   thousands
package crash
