package paimon

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Snapshot is one committed state of a table (file snapshot/snapshot-ID).
// Fields that a writer may leave out are nil then.
type Snapshot struct {
	Version               int               `json:"version"`
	ID                    int64             `json:"id"`
	SchemaID              int64             `json:"schemaId"`
	BaseManifestList      string            `json:"baseManifestList"`
	DeltaManifestList     string            `json:"deltaManifestList"`
	ChangelogManifestList *string           `json:"changelogManifestList"` // not part of the state
	IndexManifest         *string           `json:"indexManifest"`
	CommitUser            string            `json:"commitUser"`
	CommitIdentifier      int64             `json:"commitIdentifier"`
	CommitKind            string            `json:"commitKind"`       // APPEND, COMPACT, OVERWRITE, ANALYZE
	TimeMillis            int64             `json:"timeMillis"`       // of the committer's clock
	TotalRecordCount      *int64            `json:"totalRecordCount"` // records in live files, not rows
	DeltaRecordCount      *int64            `json:"deltaRecordCount"`
	ChangelogRecordCount  *int64            `json:"changelogRecordCount"`
	Watermark             *int64            `json:"watermark"`
	Statistics            *string           `json:"statistics"`
	Properties            map[string]string `json:"properties"`
	NextRowID             *int64            `json:"nextRowId"`
}

// ParseSnapshot reads a snapshot file. It refuses versions above 3; fields it
// does not know are ignored, as Paimon does.
func ParseSnapshot(data []byte) (*Snapshot, error) {
	s := &Snapshot{Version: 1, ID: -1, SchemaID: -1}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("paimon: snapshot: %w", err)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("paimon: snapshot: "+format, args...)
	}
	switch {
	case s.Version < 1 || s.Version > 3:
		return nil, bad("version is %d; this reader knows 1 to 3", s.Version)
	case s.ID < 1:
		return nil, bad("there is no id, or it is not positive")
	case s.SchemaID < 0:
		return nil, bad("there is no schemaId, or it is negative")
	case s.BaseManifestList == "":
		return nil, bad("there is no baseManifestList")
	case s.DeltaManifestList == "" && s.Version >= 3:
		return nil, bad("there is no deltaManifestList")
	}
	names := []string{s.BaseManifestList, s.DeltaManifestList}
	for _, p := range []*string{s.ChangelogManifestList, s.IndexManifest, s.Statistics} {
		if p != nil {
			names = append(names, *p)
		}
	}
	for _, n := range names {
		if n != "" && !isFileName(n) {
			return nil, bad("%q is not a file name", clip(n))
		}
	}
	return s, nil
}

// isFileName reports whether a name read from metadata stays in its folder.
func isFileName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}
