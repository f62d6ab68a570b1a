package promotion

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// paimonOption is a line of testdata/paimon-options.txt.
type paimonOption struct {
	key                 string
	versions, immutable []string
}

func paimonOptions(t *testing.T) []paimonOption {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "paimon-options.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []paimonOption
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cells := strings.Fields(lines.Text())
		if len(cells) != 4 {
			t.Fatalf("line %q: want name, versions, immutable in, group", lines.Text())
		}
		o := paimonOption{key: cells[0], versions: strings.Split(cells[1], ",")}
		if cells[2] != "-" {
			o.immutable = strings.Split(cells[2], ",")
		}
		all = append(all, o)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryPaimonOptionIsKnown: each option that Paimon declares has one entry,
// and those it calls immutable are judged by their values, since Fluss compares
// them as text and ALTER TABLE refuses to change them.
func TestEveryPaimonOptionIsKnown(t *testing.T) {
	options := paimonOptions(t)
	if len(options) < 600 {
		t.Fatalf("only %d options", len(options))
	}
	for _, o := range options {
		key := strings.ReplaceAll(o.key, "*", "v")
		rule := optionIndex.find(key)
		if rule == nil {
			t.Errorf("%s (Paimon %s): no entry", o.key, strings.Join(o.versions, ", "))
			continue
		}
		if _, exact := optionIndex.exact[key]; !exact {
			if best := longestPatterns(key); len(best) != 1 {
				t.Errorf("%s: entries %v are equally near", o.key, best)
			}
		}
		if len(o.immutable) == 0 {
			continue
		}
		// The Paimon inside Fluss 1.0 is 1.4: what that one compares is the
		// layout's, mirrored or rejected, whatever the value is.
		if slices.Contains(o.immutable, "1.4.2") && !rule.Layout {
			for _, c := range []OptionClass{rule.Class, rule.Else} {
				if c != "" && c != OptionMirrored && c != OptionRejected {
					t.Errorf("%s: immutable in Paimon 1.4, and %s for some values: Fluss 1.0 would refuse the table", o.key, c)
				}
			}
		}
		if rule.Class == OptionRejected && rule.Alter != alterEmpty {
			t.Errorf("%s: immutable in Paimon %s, but a statement is given that resets it", o.key, strings.Join(o.immutable, ", "))
		}
	}
}

// longestPatterns are the patterns of greatest length that fit a key.
func longestPatterns(key string) (best []string) {
	for _, p := range optionIndex.patterns {
		if matchPattern(p.pattern, key) && (len(best) == 0 || len(p.pattern) == len(best[0])) {
			best = append(best, p.pattern)
		}
	}
	return best
}

// TestUnknownOptionsStayUnknown: names near known ones are not taken for them.
func TestUnknownOptionsStayUnknown(t *testing.T) {
	for _, key := range []string{
		"write.something-new", "fields.v.new-rule", "sink.new", "source.new", "lookup.new", "metadata.iceberg.new", "global-index.new",
		"variant.new", "visibility-callback.new", "commit.callback.new", "data-evolution.new", "format-table.new", "", "bucket ", "Bucket",
	} {
		in := plainInput(t)
		in.Schema.Options[key] = "1"
		j := mustJudge(t, in)
		check(t, "not validated", []string{key}, j.Unvalidated)
	}
}
