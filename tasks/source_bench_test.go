package tasks

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkRead reads a million records twice, as a run does; ids are checked.
func BenchmarkRead(b *testing.B) {
	const records = 1_000_000
	for _, f := range []struct{ format, header, record string }{
		{FormatLines, "", "order-%013d\n"},
		{FormatCSV, "biz_id,name,amount\n", "order-%013d,\"Lee, Ann\",12.50\n"},
		{FormatJSONL, "", "{\"biz_id\": \"order-%013d\", \"name\": \"Lee, Ann\", \"amount\": 12.50}\n"},
	} {
		b.Run(f.format, func(b *testing.B) {
			file, err := os.Create(filepath.Join(b.TempDir(), "list"))
			if err != nil {
				b.Fatal(err)
			}
			w := bufio.NewWriter(file)
			fmt.Fprint(w, f.header)
			for i := range records {
				fmt.Fprintf(w, f.record, i)
			}
			w.Flush()
			file.Close()
			for b.Loop() {
				s := openSource(b, SourceOptions{Path: file.Name(), Format: f.format})
				for range 2 {
					for _, err := range s.Records() {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			b.ReportMetric(2*records*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
