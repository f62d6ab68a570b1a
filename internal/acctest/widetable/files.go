package widetable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"

	flussrow "github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// rowsPerFile is how many records a data file has. Files of a bucket hold the
// same keys, so that all but the newest are overwritten.
const rowsPerFile = 4

// columns are the table's, with Paimon's types.
var columns = []struct{ name, paimon string }{
	{"id", "BIGINT NOT NULL"}, {"dt", "STRING NOT NULL"}, {"name", "STRING"}, {"city", "STRING"}, {"quantity", "INT"},
	{"price", "DECIMAL(12, 2)"}, {"amount", "DOUBLE"}, {"day", "DATE"}, {"at", "TIMESTAMP(6)"}, {"note", "STRING"},
}

// record is a row of a data file of a primary-key table.
type record struct {
	Key      int64   `parquet:"_KEY_id"`
	Sequence int64   `parquet:"_SEQUENCE_NUMBER"`
	Kind     int32   `parquet:"_VALUE_KIND,int(8)"`
	ID       int64   `parquet:"id"`
	DT       string  `parquet:"dt"`
	Name     string  `parquet:"name,optional"`
	City     string  `parquet:"city,optional"`
	Quantity int32   `parquet:"quantity,optional"`
	Price    int64   `parquet:"price,optional,decimal(2:12)"`
	Amount   float64 `parquet:"amount,optional"`
	Day      int32   `parquet:"day,optional,date"`
	At       int64   `parquet:"at,optional,timestamp(microsecond:local)"`
	Note     string  `parquet:"note,optional"`
}

// micros is the record's time; millis and nanos are its parts.
func (r record) timestamp() timestamp {
	return timestamp{millis: r.At / 1000, nanos: int32(r.At % 1000 * 1000)}
}

// template is a data file that every partition has.
type template struct {
	path          string
	bucket, level int
	size, rows    int64
	first, last   record // by key; the other columns rise with it
}

// writeTemplates writes the data files of one partition.
func (w *writer) writeTemplates() error {
	keys := keysOf(w.o.Buckets)
	for f := range w.o.FilesPerPartition {
		bucket, level := f%w.o.Buckets, 0
		if f < w.o.Buckets {
			level = 5
		}
		records := make([]record, rowsPerFile)
		for i, id := range keys[bucket] {
			n := int64(f*rowsPerFile + i + 1)
			at := time.Date(2026, 1, 1, 0, 0, int(n), 0, time.UTC).UnixMicro() + n
			records[i] = record{Key: id, Sequence: n, ID: id, DT: "in the manifest", Name: fmt.Sprint("name-", n), City: fmt.Sprintf("a city of some length %06d", n),
				Quantity: int32(n), Price: 100 * n, Amount: float64(n) / 2, Day: 20_000 + int32(n), At: at, Note: fmt.Sprint("note ", n)}
		}
		t := template{path: filepath.Join(w.dir, "templates", fmt.Sprint(f)), bucket: bucket, level: level, rows: rowsPerFile,
			first: records[0], last: records[rowsPerFile-1]}
		if err := writeParquet(t.path, records); err != nil {
			return err
		}
		st, err := os.Stat(t.path)
		if err != nil {
			return err
		}
		t.size = st.Size()
		w.templates = append(w.templates, t)
	}
	return nil
}

// keysOf finds, for each bucket, the lowest keys that Paimon puts into it.
func keysOf(buckets int) [][]int64 {
	keys := make([][]int64, buckets)
	for id, full := int64(0), 0; full < buckets; id++ {
		key := make([]byte, 16) // a BinaryRow of one BIGINT
		binary.LittleEndian.PutUint64(key[8:], uint64(id))
		b := flussrow.Bucket(flussrow.LakePaimon, key, buckets)
		if len(keys[b]) == rowsPerFile {
			continue
		}
		if keys[b] = append(keys[b], id); len(keys[b]) == rowsPerFile {
			full++
		}
	}
	return keys
}

func writeParquet(path string, records []record) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := parquet.NewGenericWriter[record](f)
	if _, err := p.Write(records); err != nil {
		return err
	}
	return p.Close()
}
