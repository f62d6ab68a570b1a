package provider

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// compatibilityModel is configuration and result of fluss_lake_compatibility.
type compatibilityModel struct {
	Database               types.String `tfsdk:"database"`
	Table                  types.String `tfsdk:"table"`
	Partitions             types.Set    `tfsdk:"partitions"`
	PrepareSource          types.Bool   `tfsdk:"prepare_source"`
	TableProperties        types.Map    `tfsdk:"table_properties"`
	UnvalidatedProperties  types.String `tfsdk:"unvalidated_properties"`
	AcknowledgedProperties types.Set    `tfsdk:"acknowledged_properties"`
	LakeLayout             types.String `tfsdk:"lake_layout"`
	SourceSnapshotID       types.Number `tfsdk:"source_snapshot_id"`

	ID                types.String `tfsdk:"id"`
	Compatible        types.Bool   `tfsdk:"compatible"`
	Errors            types.List   `tfsdk:"errors"`
	Warnings          types.List   `tfsdk:"warnings"`
	ClusterGeneration types.String `tfsdk:"cluster_generation"`
	SnapshotID        types.Int64  `tfsdk:"snapshot_id"`
	PinSnapshotID     types.Int64  `tfsdk:"pin_snapshot_id"`
	SchemaID          types.Int64  `tfsdk:"schema_id"`
	PrimaryKey        types.List   `tfsdk:"primary_key"`
	PartitionKeys     types.List   `tfsdk:"partition_keys"`
	Buckets           types.Int64  `tfsdk:"buckets"`
	Rows              types.Int64  `tfsdk:"rows"`
	Bytes             types.Int64  `tfsdk:"bytes"`
	Files             types.Int64  `tfsdk:"files"`
	Options           types.Map    `tfsdk:"options"`
	SourcePartitions  types.List   `tfsdk:"source_partitions"`
	SourceChanges     types.List   `tfsdk:"source_changes"`
	Statements        types.List   `tfsdk:"statements"`
	Existing          types.Object `tfsdk:"existing"`
}

// spec is the promotion whose preview is asked for: its arguments mean the same
// as those of the resource.
func (m *compatibilityModel) spec() promotion.Spec {
	p := promotionModel{
		Database: m.Database, Table: m.Table, Partitions: m.Partitions, PrepareSource: m.PrepareSource,
		TableProperties: m.TableProperties, UnvalidatedProperties: m.UnvalidatedProperties,
		AcknowledgedProperties: m.AcknowledgedProperties, LakeLayout: m.LakeLayout, SourceSnapshotID: m.SourceSnapshotID,
	}
	return p.spec()
}

// optionClasses are all classes, so that an expression can index each.
var optionClasses = []promotion.OptionClass{
	promotion.OptionAccepted, promotion.OptionMustSet, promotion.OptionMirrored,
	promotion.OptionRejected, promotion.OptionNoInfluence, promotion.OptionUnvalidated,
}

func (m *compatibilityModel) setReport(report *promotion.Report, s secrets) {
	m.ID = types.StringValue(m.Database.ValueString() + "." + m.Table.ValueString())
	problems := report.Errors()
	if report.Existing != nil && report.Existing.Promoted {
		// The promotion that is asked about is done: a configuration that makes it
		// and asks about it goes on being right.
		problems = slices.DeleteFunc(problems, func(p promotion.Problem) bool { return p.Rule == promotion.RulePromoted })
	}
	m.Compatible = types.BoolValue(len(problems) == 0)
	m.Errors = problemList(problems, s)
	m.Warnings = problemList(report.Warnings(), s)
	m.ClusterGeneration = stringOrNull(report.Generation)
	m.SnapshotID = types.Int64PointerValue(report.SnapshotID)
	m.PinSnapshotID = types.Int64PointerValue(report.PinSnapshotID)
	m.SchemaID = types.Int64Value(report.SchemaID)
	m.PrimaryKey = listValue(report.PrimaryKey)
	m.PartitionKeys = listValue(report.PartitionKeys)
	m.Buckets = types.Int64Value(int64(report.Buckets))
	m.Rows = types.Int64Value(report.Records)
	m.Bytes = types.Int64Value(report.Bytes)
	m.Files = types.Int64Value(int64(report.Files))

	options := make(map[string]attr.Value, len(optionClasses))
	for _, class := range optionClasses {
		options[string(class)] = listValue(slices.Sorted(slices.Values(report.Options[class])))
	}
	m.Options = types.MapValueMust(types.ListType{ElemType: types.StringType}, options)

	partitions := make([]attr.Value, 0, len(report.Partitions))
	for _, p := range report.Partitions {
		partitions = append(partitions, types.ObjectValueMust(sourcePartitionType.AttrTypes, map[string]attr.Value{
			"values":   mapValue(p.Spec),
			"rows":     types.Int64Value(p.Records),
			"bytes":    types.Int64Value(p.Bytes),
			"files":    types.Int64Value(int64(p.Files)),
			"selected": types.BoolValue(p.Selected),
		}))
	}
	m.SourcePartitions = types.ListValueMust(sourcePartitionType, partitions)

	changes := make([]attr.Value, 0, len(report.SourceChanges))
	for _, c := range report.SourceChanges {
		changes = append(changes, types.ObjectValueMust(sourceChangeType.AttrTypes, map[string]attr.Value{
			"what":      types.StringValue(c.What),
			"from":      stringOrNull(c.From),
			"to":        stringOrNull(c.To),
			"statement": stringOrNull(c.Statement),
		}))
	}
	m.SourceChanges = types.ListValueMust(sourceChangeType, changes)
	m.Statements = listValue(report.Statements)

	m.Existing = types.ObjectNull(existingType.AttrTypes)
	if e := report.Existing; e != nil {
		m.Existing = types.ObjectValueMust(existingType.AttrTypes, map[string]attr.Value{
			"operation_id": stringOrNull(e.OperationID),
			"stage":        stringOrNull(string(e.Stage)),
			"plan":         stringOrNull(e.Plan),
			"promoted":     types.BoolValue(e.Promoted),
		})
	}
}

func problemList(problems promotion.Problems, s secrets) types.List {
	text := func(v string) types.String { return stringOrNull(s.clean(v)) }
	elements := make([]attr.Value, 0, len(problems))
	for _, p := range problems {
		elements = append(elements, types.ObjectValueMust(problemType.AttrTypes, map[string]attr.Value{
			"rule":                  text(p.Rule),
			"attribute":             text(strings.Join(p.Attribute, ".")),
			"summary":               text(p.Summary),
			"found":                 text(p.Found),
			"required":              text(p.Required),
			"why":                   text(p.Why),
			"fix":                   text(p.Fix),
			"prepare_source_can_do": types.BoolValue(p.PrepareFixes),
		}))
	}
	return types.ListValueMust(problemType, elements)
}
