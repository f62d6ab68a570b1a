package paimon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Partition is one partition value. The value, not the folder, is what tells
// partitions apart: several values can share a folder.
type Partition struct {
	Values []any  // one a partition column, nil = null; see DateValue and its siblings
	Raw    []byte // BinaryRow with its arity in front: the identity
}

// partitionFields are the partition columns, in order.
func (s *Schema) partitionFields() []Field { return s.fieldsOf(s.PartitionKeys) }

func (s *Schema) defaultPartitionName() string {
	return s.Option("partition.default-name", "__DEFAULT_PARTITION__")
}

// PartitionSpec gives, for each partition column, Paimon's text of its value:
// with legacyName as Java's toString writes it, else as a cast to STRING.
// Null, empty and blank values give the option partition.default-name.
// TIMESTAMP_LTZ without legacyName is in UTC here, in the time zone of the
// writing JVM there. An error names a value that has no such text.
func (t *Table) PartitionSpec(p Partition, legacyName bool) (map[string]string, error) {
	texts, err := t.partitionTexts(p, legacyName)
	if err != nil {
		return nil, err
	}
	spec := make(map[string]string, len(texts))
	for i, k := range t.Schema().PartitionKeys {
		spec[k] = texts[i]
	}
	return spec, nil
}

func (t *Table) partitionTexts(p Partition, legacyName bool) ([]string, error) {
	s := t.Schema()
	fields := s.partitionFields()
	if len(fields) != len(p.Values) {
		return nil, fmt.Errorf("paimon: table %q: partition has %d values, required are %d", t.name, len(p.Values), len(fields))
	}
	texts := make([]string, len(fields))
	for i, f := range fields {
		text, err := partitionText(p.Values[i], f.Type, legacyName)
		if err != nil {
			return nil, fmt.Errorf("paimon: table %q: partition column %q: %w", t.name, f.Name, err)
		}
		if isBlank(text) {
			text = s.defaultPartitionName()
		}
		texts[i] = text
	}
	return texts, nil
}

// isBlank is Java's: only whitespace by Java's own count of it.
func isBlank(s string) bool {
	for _, r := range s {
		if !isJavaWhitespace(r) {
			return false
		}
	}
	return true
}

func isJavaWhitespace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r >= 0x1C && r <= 0x20:
		return true
	case r == 0x00A0 || r == 0x2007 || r == 0x202F: // the non-breaking ones are not
		return false
	case r == 0x1680, r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}

// partitionText is "" for null.
func partitionText(v any, t DataType, legacyName bool) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case bool:
		return strconv.FormatBool(v), nil
	case int8:
		return strconv.Itoa(int(v)), nil
	case int16:
		return strconv.Itoa(int(v)), nil
	case int32:
		return strconv.Itoa(int(v)), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float32:
		return javaFloat(float64(v), 32), nil
	case float64:
		return javaFloat(v, 64), nil
	case string:
		return v, nil
	case DecimalValue:
		return v.text(), nil
	case []byte:
		if legacyName {
			return "", fmt.Errorf("a %s value has no stable text with partition.legacy-name=true: Paimon writes an object's address", t)
		}
		return string([]rune(string(v))), nil // each byte that is not UTF-8 becomes U+FFFD
	case DateValue:
		if legacyName {
			return strconv.Itoa(int(v)), nil
		}
		return string(appendDate(nil, int64(v))), nil
	case TimeValue:
		if legacyName {
			return strconv.Itoa(int(v)), nil
		}
		return castTimeText(v, t.Precision), nil
	case TimestampValue:
		if legacyName {
			return localDateTimeText(v), nil
		}
		return castTimestampText(v, t.Precision), nil
	}
	return "", fmt.Errorf("no partition text is known for a %T", v)
}

// castTimeText is Paimon's cast of a TIME to STRING: trailing zeros of the
// fraction are left out, but one digit stays.
func castTimeText(v TimeValue, precision int) string {
	dst := appendClock(nil, int64(v), ':')
	if precision > 0 {
		nano := int64(v) % 1000 * 1_000_000
		dst = append(dst, '.')
		dst = appendFraction(dst, nano, min(max(significant(nano), 1), precision))
	}
	return string(dst)
}

// castTimestampText is Paimon's cast of a TIMESTAMP to STRING: at least the
// type's digits, more when the value has them.
func castTimestampText(v TimestampValue, precision int) string {
	day, milli, nano := v.split()
	dst := append(appendDate(nil, day), ' ')
	dst = appendClock(dst, milli, ':')
	if n := max(significant(nano), precision); n > 0 {
		dst = appendFraction(append(dst, '.'), nano, n)
	}
	return string(dst)
}

// localDateTimeText is java.time.LocalDateTime.toString.
func localDateTimeText(v TimestampValue) string {
	day, milli, nano := v.split()
	var dst []byte
	if y, _, _ := civil(day); y > 9999 {
		dst = append(dst, '+')
	}
	dst = append(appendDate(dst, day), 'T')
	dst = appendClock(dst, milli, ':')
	if milli/1000%60 == 0 && nano == 0 {
		return string(dst[:len(dst)-len(":00")])
	}
	if n := significant(nano); n > 0 {
		dst = appendFraction(append(dst, '.'), nano, (n+2)/3*3)
	}
	return string(dst)
}

// FlussPartitionValue is the text that Fluss uses for a partition value of
// that type. Types and nulls that Fluss has no partitions of are refused.
func FlussPartitionValue(v any, t DataType) (string, error) {
	switch v := v.(type) {
	case float32, float64:
		text, _ := partitionText(v, t, true)
		switch text {
		case "Infinity":
			return "Inf", nil
		case "-Infinity":
			return "-Inf", nil
		}
		return strings.ReplaceAll(text, ".", "_"), nil
	case []byte:
		return hex.EncodeToString(v), nil
	case DateValue:
		return string(appendDate(nil, int64(v))), nil
	case TimeValue:
		dst := append(appendClock(nil, int64(v), '-'), '_')
		return string(appendFraction(dst, int64(v)%1000*1_000_000, 3)), nil
	case TimestampValue:
		day, milli, nano := v.split()
		dst := append(appendDate(nil, day), '-')
		dst = append(appendClock(dst, milli, '-'), '_')
		return string(appendFraction(dst, nano, significant(nano))), nil
	case nil:
		return "", fmt.Errorf("paimon: Fluss has no partition for a null value")
	case DecimalValue:
		return "", fmt.Errorf("paimon: Fluss has no partitions by a column of type %s", t)
	}
	return partitionText(v, t, true)
}

// PartitionDir is the folder of a partition below the table, as the current
// options have it: "dt=2024-01-01/"; "" when the table is not partitioned. It
// leaves out the option data-file.path-directory.
func (t *Table) PartitionDir(p Partition) (string, error) {
	return t.partitionDir(p, t.Schema().optionBool("partition.legacy-name", true))
}

func (t *Table) partitionDir(p Partition, legacyName bool) (string, error) {
	texts, err := t.partitionTexts(p, legacyName)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, k := range t.Schema().PartitionKeys {
		fmt.Fprintf(&b, "%s=%s/", escapePathName(k), escapePathName(texts[i]))
	}
	return b.String(), nil
}

// escapePathName percent-escapes what Paimon escapes in a partition folder's
// name.
func escapePathName(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c == 0x7F || strings.IndexByte("\"#%'*/:=?\\{}[]^", c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapePathName undoes escapePathName; what is not an escape stays.
func unescapePathName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ParsePartitionPath splits a partition folder "a=1/b=x%2Fy/" into its columns
// and texts. It is for showing and searching only: the texts do not tell
// partitions apart.
func ParsePartitionPath(dir string) (keys, texts []string, err error) {
	for _, part := range strings.Split(strings.Trim(dir, "/"), "/") {
		k, v, ok := strings.Cut(part, "=")
		if !ok || k == "" {
			return nil, nil, fmt.Errorf("paimon: %q is not a partition folder of the form COLUMN=VALUE", clip(part))
		}
		keys, texts = append(keys, unescapePathName(k)), append(texts, unescapePathName(v))
	}
	return keys, texts, nil
}

// bucketDirName is the folder of a bucket.
func bucketDirName(bucket int) string {
	if bucket == postponeBucket {
		return "bucket-postpone"
	}
	return "bucket-" + strconv.Itoa(bucket)
}

const postponeBucket = -2

// maxSearchedDirs bounds the search for a partition's folder.
const maxSearchedDirs = 10_000

// FileDir is the partition folder, below the table (or its
// data-file.path-directory) and ending in a slash, in which a file of a bucket
// really lies; "" when the table has no partitions. Files with an external path
// have none.
func (t *Table) FileDir(ctx context.Context, p Partition, bucket int, f DataFile) (string, error) {
	if f.ExternalPath != nil {
		return "", fmt.Errorf("paimon: table %q: file %s has an external path and no partition folder", t.name, f.Name)
	}
	found, err := t.locate(ctx, p, bucket, f)
	if err != nil {
		return "", err
	}
	root := path.Join(t.path, t.Schema().Option("data-file.path-directory", ""))
	dir := strings.TrimPrefix(path.Dir(path.Dir(found)), root)
	if dir = strings.Trim(dir, "/"); dir != "" {
		dir += "/"
	}
	return dir, nil
}

// locate returns where a file of a partition's bucket lies. The folder is
// computed with the current options; when the file is not there, other
// writers' spellings of the folder are tried, then the folders there are. The
// error matches ErrFileMissing when it is nowhere.
func (t *Table) locate(ctx context.Context, p Partition, bucket int, f DataFile) (string, error) {
	if f.ExternalPath != nil {
		return t.externalPath(*f.ExternalPath, f.Name)
	}
	root := path.Join(t.path, t.Schema().Option("data-file.path-directory", ""))
	tail := path.Join(bucketDirName(bucket), f.Name)
	legacy := t.Schema().optionBool("partition.legacy-name", true)
	var dirs []string
	try := func(dir string) (bool, error) {
		if slices.Contains(dirs, dir) {
			return false, nil
		}
		dirs = append(dirs, dir)
		return t.exists(ctx, path.Join(dir, tail))
	}
	for _, c := range []struct{ legacy, escaped bool }{{legacy, true}, {!legacy, true}, {legacy, false}, {!legacy, false}} {
		dir, err := t.partitionDir(p, c.legacy)
		if err != nil {
			continue // a value without such a text has no such folder
		}
		if !c.escaped {
			dir = unescapePathName(dir)
		}
		if strings.Contains("/"+dir+"/", "/../") {
			continue
		}
		if found, err := try(path.Join(root, dir)); found || err != nil {
			return path.Join(root, dir, tail), err
		}
	}
	if known, ok := t.dirs.Load(string(p.Raw)); ok {
		if found, err := try(known.(string)); found || err != nil {
			return path.Join(known.(string), tail), err
		}
	}
	if n := len(t.Schema().PartitionKeys); n > 0 {
		budget := maxSearchedDirs
		dir, err := t.searchDir(ctx, root, tail, n, &budget)
		if err != nil {
			return "", err
		}
		if dir != "" {
			t.dirs.Store(string(p.Raw), dir)
			return path.Join(dir, tail), nil
		}
	}
	at := path.Join(root, "…", tail)
	if len(dirs) > 0 {
		at = path.Join(dirs[0], tail)
	}
	return "", fmt.Errorf("paimon: table %q: %w: data file %s", t.name, ErrFileMissing, at)
}

// searchDir looks through the folders depth levels below dir for the one that
// holds tail; "" when none does. File names are unique, so the file found is
// the one wanted.
func (t *Table) searchDir(ctx context.Context, dir, tail string, depth int, budget *int) (string, error) {
	if depth == 0 {
		found, err := t.exists(ctx, path.Join(dir, tail))
		if !found {
			dir = ""
		}
		return dir, err
	}
	infos, err := t.fs.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	prefix := escapePathName(t.Schema().PartitionKeys[len(t.Schema().PartitionKeys)-depth]) + "="
	for _, i := range infos {
		if !i.IsDir || !strings.HasPrefix(i.Name, prefix) {
			continue
		}
		if *budget--; *budget < 0 {
			return "", nil
		}
		found, err := t.searchDir(ctx, path.Join(dir, i.Name), tail, depth-1, budget)
		if found != "" || err != nil {
			return found, err
		}
	}
	return "", nil
}

func (t *Table) exists(ctx context.Context, file string) (bool, error) {
	_, err := t.fs.Stat(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	return true, nil
}

// externalPath turns the whole path that a manifest entry carries into one of
// the table's file system.
func (t *Table) externalPath(uri, name string) (string, error) {
	p := uri
	if scheme, rest, ok := strings.Cut(uri, ":"); ok && scheme == "file" {
		p = "/" + strings.TrimLeft(rest, "/")
	}
	if !path.IsAbs(p) || path.Base(p) != name {
		return "", &UnsupportedError{What: fmt.Sprintf("the external path %q of data file %s", clip(uri), name), Where: fmt.Sprintf("table %q", t.name),
			Why: "only local paths that end in the file's name are read"}
	}
	return p, nil
}
