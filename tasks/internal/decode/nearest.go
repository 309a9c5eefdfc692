package decode

// Nearest gives the name that s is most likely a misspelling of, or nothing.
func Nearest(s string, names []string) string {
	best, limit := "", max(1, len(s)/3)
	for _, name := range names {
		if d := distance(s, name); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// distance counts the letters that must be put in, taken out, replaced, or
// swapped with their neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
