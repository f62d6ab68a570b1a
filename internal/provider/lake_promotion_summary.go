package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// listed is how many names a message lists before it only counts.
const listed = 12

// previewText tells what apply would do.
func previewText(report *promotion.Report, spec promotion.Spec) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line("The Paimon table %s becomes a Fluss table of the same name (Fluss %s).", report.Name, report.Generation)
	if report.SnapshotID == nil {
		line("Source: schema %d, no snapshot: it is promoted empty.", report.SchemaID)
	} else {
		line("Source now: snapshot %d, schema %d. Apply takes the newest%s.", *report.SnapshotID, report.SchemaID, pinText(spec))
	}
	for _, text := range []string{loadText(report), partitionsText(report), existingText(report), changesText(report, spec)} {
		if text != "" {
			line("%s", text)
		}
	}
	unknown := slices.DeleteFunc(slices.Clone(report.Unvalidated), func(key string) bool { return slices.Contains(spec.Acknowledged, key) })
	if len(unknown) > 0 {
		line("Options that this provider does not know, kept and not validated: %s.", names(unknown))
	}
	for _, p := range report.Warnings() {
		line("Note: %s", strings.ReplaceAll(p.Error(), "\n", "\n  "))
	}
	line("While it is promoted nothing else may write to the Paimon table: stop writers, compaction jobs and other maintenance.")
	return strings.TrimSuffix(b.String(), "\n")
}

func pinText(spec promotion.Spec) string {
	if spec.SourceSnapshotID == nil {
		return " (set source_snapshot_id to pin one)"
	}
	return " and fails if it is not the pinned one"
}

func loadText(report *promotion.Report) string {
	switch {
	case report.SnapshotID == nil:
		return ""
	case len(report.PrimaryKey) == 0:
		return fmt.Sprintf("To load: nothing. It is a log table; its %d rows stay in the lake (%s in %d files).",
			report.Records, byteText(report.Bytes), report.Files)
	}
	return fmt.Sprintf("To load: at most %d rows, %s in %d files; buckets: %d.",
		report.Records, byteText(report.Bytes), report.Files, report.Buckets)
}

// partitionsText names the partitions that stay out: lookups and writes must be
// kept off them.
func partitionsText(report *promotion.Report) string {
	if len(report.PartitionKeys) == 0 {
		return ""
	}
	var out []string
	for _, p := range report.Partitions {
		if !p.Selected {
			out = append(out, partitionText(p.Spec))
		}
	}
	if len(out) == 0 {
		return fmt.Sprintf("Partitions to initialize: all %d.", len(report.Partitions))
	}
	return fmt.Sprintf("Partitions to initialize: %d of %d. NOT initialized, keep lookups and writes through Fluss off them: %s.",
		len(report.Partitions)-len(out), len(report.Partitions), names(out))
}

func existingText(report *promotion.Report) string {
	if e := report.Existing; e != nil {
		return fmt.Sprintf("Fluss already holds operation %s at stage %s. Apply would: %s.", e.OperationID, stageText(e.Stage), e.Plan)
	}
	return ""
}

func changesText(report *promotion.Report, spec promotion.Spec) string {
	if len(report.SourceChanges) == 0 || !spec.PrepareSource {
		return ""
	}
	changes := make([]string, len(report.SourceChanges))
	for i, c := range report.SourceChanges {
		changes[i] = c.String()
	}
	return "prepare_source commits one metadata-only schema version to the Paimon table:\n  - " + strings.Join(changes, "\n  - ")
}

// names joins names, and counts those that would make a message too long.
func names(list []string) string {
	if len(list) <= listed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:listed], ", "), len(list)-listed)
}

// byteText is a size in the binary unit that fits.
func byteText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n), ""
	for _, suffix = range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value /= unit; value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, suffix)
}
