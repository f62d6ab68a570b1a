package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
)

// TestSamplesAsORC has Flink write every sample table once more, as ORC, and
// compares what this project reads of it with the sample's expected rows.
func TestSamplesAsORC(t *testing.T) {
	e := need(t)
	db := e.database(t)
	sql, err := flinksql.Open(timeout(t, time.Minute), e.GatewayURL, map[string]string{"table.local-time-zone": "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sql.Close(timeout(t, 10*time.Second)) })
	exec := func(t *testing.T, statement string) {
		t.Helper()
		if err := sql.Exec(timeout(t, 5*time.Minute), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, fmt.Sprintf("CREATE CATALOG orcs WITH ('type'='paimon','warehouse'='%s')", e.Warehouse))
	samples := filepath.Join("..", "..", "..", "testdata", "paimon")
	files, err := filepath.Glob(filepath.Join(samples, "*", "expected.json"))
	if err != nil || len(files) < 31 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Keys []string          `json:"primary_keys"`
				Rows []json.RawMessage `json:"rows"`
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(e.tableDir(db, name), os.DirFS(filepath.Join(samples, name, "table"))); err != nil {
				t.Fatal(err)
			}
			options := "'file.format'='orc', 'bucket'='-1'"
			if len(want.Keys) > 0 && name != "py_duplicate_keys" { // a writer would merge those
				options = fmt.Sprintf("'file.format'='orc', 'bucket'='1', 'primary-key'='%s'", strings.Join(want.Keys, ","))
			}
			exec(t, fmt.Sprintf("CREATE TABLE orcs.`%[1]s`.`%[2]s_orc` WITH (%[3]s) AS SELECT * FROM orcs.`%[1]s`.`%[2]s`", db, name, options))
			got, err := readTable(e.tableDir(db, name+"_orc"))
			if err != nil {
				t.Fatal(err)
			}
			var wanted []string
			for _, r := range want.Rows {
				wanted = append(wanted, asORC(t, r))
			}
			for i := range got {
				got[i] = asORC(t, []byte(got[i]))
			}
			sort.Strings(got)
			sort.Strings(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("%d rows:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(wanted), strings.Join(wanted, "\n"))
			}
		})
	}
}

var (
	// ORC can't hold a fraction of the last second before 1970, of which Paimon
	// Java makes one of the first second after it, nor a CHAR's trailing
	// blanks (the samples have them in CHAR(5)).
	lastSecond = regexp.MustCompile(`"1969-12-31 23:59:59\.(00[1-9]|0[1-9]\d|[1-9]\d\d)`)
	charBlanks = regexp.MustCompile(`"a    "`)
)

// asORC is a row as it comes back from an ORC file, in one spelling.
func asORC(t *testing.T, row []byte) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(row, &v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	text := charBlanks.ReplaceAllString(b.String(), `"a"`)
	return lastSecond.ReplaceAllString(text, `"1970-01-01 00:00:00.$1`)
}
