package table

// Names remembers which batch and which run a number stands for. Numbers are
// never given twice, so what was read once stays true; what a transaction made
// that was rolled back is the exception.
type Names struct {
	Batches map[int64]BatchName
	Runs    map[int64]string
	Numbers map[string]int64 // of runs
}

// BatchName is what people call a batch.
type BatchName struct{ Task, Date string }

// maxNames bounds the memory of a process that lives long.
const maxNames = 10_000

// Remember adds to a map of names.
func Remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil || len(*m) >= maxNames {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
