package provider

import (
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// promotionModel is configuration, plan and state of fluss_lake_promotion.
type promotionModel struct {
	Database               types.String `tfsdk:"database"`
	Table                  types.String `tfsdk:"table"`
	Partitions             types.Set    `tfsdk:"partitions"`
	PrepareSource          types.Bool   `tfsdk:"prepare_source"`
	TableProperties        types.Map    `tfsdk:"table_properties"`
	UnvalidatedProperties  types.String `tfsdk:"unvalidated_properties"`
	AcknowledgedProperties types.Set    `tfsdk:"acknowledged_properties"`
	Load                   types.Object `tfsdk:"load"`
	Verification           types.String `tfsdk:"verification"`
	Takeover               types.String `tfsdk:"takeover"`
	OnSourceChange         types.String `tfsdk:"on_source_change"`
	LakeLayout             types.String `tfsdk:"lake_layout"`
	DeletionProtection     types.Bool   `tfsdk:"deletion_protection"`
	AllowUntieredDataLoss  types.Bool   `tfsdk:"allow_untiered_data_loss"`

	Timeouts timeouts.Value `tfsdk:"timeouts"`

	SourceSnapshotID types.Number `tfsdk:"source_snapshot_id"` // argument and result

	ID                    types.String `tfsdk:"id"`
	ClusterID             types.String `tfsdk:"cluster_id"`
	OperationID           types.String `tfsdk:"operation_id"`
	Stage                 types.String `tfsdk:"stage"`
	TableID               types.Int64  `tfsdk:"table_id"`
	SourceSchemaID        types.Int64  `tfsdk:"source_schema_id"`
	RegisteredSnapshotID  types.Int64  `tfsdk:"registered_snapshot_id"`
	InitializedPartitions types.List   `tfsdk:"initialized_partitions"`
	LoadJobID             types.String `tfsdk:"load_job_id"`
	RowsLoaded            types.Int64  `tfsdk:"rows_loaded"`
	BytesLoaded           types.Int64  `tfsdk:"bytes_loaded"`
	BucketOffsets         types.Map    `tfsdk:"bucket_offsets"`
	SourceChanges         types.List   `tfsdk:"source_changes"`
	UnvalidatedOptionKeys types.List   `tfsdk:"unvalidated_option_keys"`
	PromotedAt            types.String `tfsdk:"promoted_at"`
}

// promotionIdentity is the resource's identity.
type promotionIdentity struct {
	Database types.String `tfsdk:"database"`
	Table    types.String `tfsdk:"table"`
}

func (m *promotionModel) identity() promotionIdentity {
	return promotionIdentity{Database: m.Database, Table: m.Table}
}

func (m *promotionModel) name() promotion.TableName {
	return promotion.TableName{Database: m.Database.ValueString(), Table: m.Table.ValueString()}
}

// stage is "" while none is known.
func (m *promotionModel) stage() promotion.Stage { return promotion.Stage(m.Stage.ValueString()) }

func (m *promotionModel) enabled() bool { return m.stage() == promotion.StageEnabled }

// spec is what the user asks for. The model must be wholly known, except for
// results; a snapshot ID that is not known is no pin.
func (m *promotionModel) spec() promotion.Spec {
	spec := promotion.Spec{
		Name:            m.name(),
		Partitions:      partitionSpecs(m.Partitions),
		PrepareSource:   m.PrepareSource.ValueBool(),
		TableProperties: stringMap(m.TableProperties),
		DenyUnvalidated: m.UnvalidatedProperties.ValueString() == unvalidatedDeny,
		Acknowledged:    stringList(m.AcknowledgedProperties),
		Engine:          stringOr(member(m.Load, "engine"), engineNative),
		Flink:           flinkLoad(member(m.Load, "flink")),
		Parallelism:     int(intOr(member(m.Load, "parallelism"), 0)),
		BatchBytes:      int(intOr(member(m.Load, "batch_bytes"), 0)),
		MaxInFlight:     int(intOr(member(m.Load, "max_in_flight"), 0)),
		Verification:    promotion.Verification(stringOr(m.Verification, string(promotion.VerifySample))),
		Takeover:        stringOr(m.Takeover, takeoverFence),
		OnSourceChange:  stringOr(m.OnSourceChange, onChangeFail),
		LakeLayout:      m.LakeLayout.ValueString(),
	}
	if n := intOr(member(m.Load, "spill_bytes"), -1); n >= 0 {
		spec.SpillBytes = &n
	}
	slices.Sort(spec.Acknowledged)
	if !m.SourceSnapshotID.IsNull() && !m.SourceSnapshotID.IsUnknown() {
		id := intOr(m.SourceSnapshotID, 0)
		spec.SourceSnapshotID = &id
	}
	return spec
}

// unknownInput names the first argument of a preview that is not known; "" if
// all are. Arguments that only matter later may be unknown.
func (m *promotionModel) unknownInput(config *promotionModel) string {
	return firstUnknown(
		namedValue{"database", m.Database},
		namedValue{"table", m.Table},
		namedValue{"partitions", m.Partitions},
		namedValue{"prepare_source", m.PrepareSource},
		namedValue{"table_properties", m.TableProperties},
		namedValue{"unvalidated_properties", m.UnvalidatedProperties},
		namedValue{"acknowledged_properties", m.AcknowledgedProperties},
		namedValue{"load", m.Load},
		namedValue{"verification", m.Verification},
		namedValue{"takeover", m.Takeover},
		namedValue{"on_source_change", m.OnSourceChange},
		namedValue{"lake_layout", m.LakeLayout},
		// In the plan it is unknown also where it is a result.
		namedValue{"source_snapshot_id", config.SourceSnapshotID},
	)
}

func (m *promotionModel) ref() promotion.Ref {
	return promotion.Ref{
		Name:        m.name(),
		ClusterID:   m.ClusterID.ValueString(),
		OperationID: m.OperationID.ValueString(),
		TableID:     m.TableID.ValueInt64(),
	}
}

func (m *promotionModel) removeOptions() promotion.RemoveOptions {
	return promotion.RemoveOptions{
		// Protected unless it says otherwise: an import has not been read yet.
		DeletionProtection:    m.DeletionProtection.IsNull() || m.DeletionProtection.ValueBool(),
		AllowUntieredDataLoss: m.AllowUntieredDataLoss.ValueBool(),
	}
}

// imported says that the state holds no more than an import has put there.
func (m *promotionModel) imported() bool { return m.DeletionProtection.IsNull() }

// setResultsUnknown makes all results unknown. The snapshot ID is one unless
// the configuration sets it.
func (m *promotionModel) setResultsUnknown(config *promotionModel) {
	if config.SourceSnapshotID.IsNull() {
		m.SourceSnapshotID = types.NumberUnknown()
	}
	m.ID = types.StringUnknown()
	m.ClusterID = types.StringUnknown()
	m.OperationID = types.StringUnknown()
	m.Stage = types.StringUnknown()
	m.TableID = types.Int64Unknown()
	m.SourceSchemaID = types.Int64Unknown()
	m.RegisteredSnapshotID = types.Int64Unknown()
	m.InitializedPartitions = types.ListUnknown(partitionType)
	m.LoadJobID = types.StringUnknown()
	m.RowsLoaded = types.Int64Unknown()
	m.BytesLoaded = types.Int64Unknown()
	m.BucketOffsets = types.MapUnknown(types.Int64Type)
	m.SourceChanges = types.ListUnknown(types.StringType)
	m.UnvalidatedOptionKeys = types.ListUnknown(types.StringType)
	m.PromotedAt = types.StringUnknown()
}

// setResultsFrom takes the results of another model; nil means that nothing is
// known. A known snapshot ID stays: in a plan it is the user's pin, and what was
// planned as known must come back.
func (m *promotionModel) setResultsFrom(from *promotionModel) {
	if from == nil {
		from = &promotionModel{
			InitializedPartitions: types.ListNull(partitionType),
			BucketOffsets:         types.MapNull(types.Int64Type),
			SourceChanges:         types.ListNull(types.StringType),
			UnvalidatedOptionKeys: types.ListNull(types.StringType),
		}
	}
	if m.SourceSnapshotID.IsUnknown() || m.SourceSnapshotID.IsNull() {
		m.SourceSnapshotID = from.SourceSnapshotID
	}
	m.ID = from.ID
	m.ClusterID = from.ClusterID
	m.OperationID = from.OperationID
	m.Stage = from.Stage
	m.TableID = from.TableID
	m.SourceSchemaID = from.SourceSchemaID
	m.RegisteredSnapshotID = from.RegisteredSnapshotID
	m.InitializedPartitions = from.InitializedPartitions
	m.LoadJobID = from.LoadJobID
	m.RowsLoaded = from.RowsLoaded
	m.BytesLoaded = from.BytesLoaded
	m.BucketOffsets = from.BucketOffsets
	m.SourceChanges = from.SourceChanges
	m.UnvalidatedOptionKeys = from.UnvalidatedOptionKeys
	m.PromotedAt = from.PromotedAt
}

// setResult writes a result over what the model holds. A call that ended before
// it knew the operation leaves the rest as it is.
func (m *promotionModel) setResult(res promotion.Result) {
	m.ID = types.StringValue(m.name().String())
	if res.ClusterID != "" {
		m.ClusterID = types.StringValue(res.ClusterID)
	}
	if res.Stage != "" {
		m.Stage = types.StringValue(string(res.Stage))
	}
	if res.OperationID == "" {
		return
	}
	m.OperationID = types.StringValue(res.OperationID)
	m.TableID = types.Int64Null()
	if res.TableID != 0 {
		m.TableID = types.Int64Value(res.TableID)
	}
	m.SourceSnapshotID = numberOrNull(res.SourceSnapshotID)
	m.SourceSchemaID = types.Int64Value(res.SourceSchemaID)
	m.RegisteredSnapshotID = types.Int64PointerValue(res.RegisteredSnapshotID)
	m.InitializedPartitions = partitionList(res.InitializedPartitions)
	m.LoadJobID = stringOrNull(res.LoadJobID)
	m.RowsLoaded = types.Int64Value(res.RowsLoaded)
	m.BytesLoaded = types.Int64PointerValue(res.BytesLoaded)
	offsets := make(map[string]attr.Value, len(res.BucketOffsets))
	for bucket, offset := range res.BucketOffsets {
		offsets[bucket] = types.Int64Value(offset)
	}
	m.BucketOffsets = types.MapValueMust(types.Int64Type, offsets)
	m.SourceChanges = listValue(res.SourceChanges)
	m.UnvalidatedOptionKeys = listValue(res.UnvalidatedOptionKeys)
	m.PromotedAt = types.StringNull()
	if !res.PromotedAt.IsZero() {
		m.PromotedAt = types.StringValue(res.PromotedAt.UTC().Format(time.RFC3339))
	}
}

// fillArguments gives the arguments of an imported promotion the values that
// its operation was started with, or their defaults where that is not known.
func (m *promotionModel) fillArguments(spec *promotion.Spec, selected []map[string]string) {
	if spec == nil {
		spec = &promotion.Spec{}
	}
	m.Partitions = partitionSet(selected)
	m.PrepareSource = types.BoolValue(spec.PrepareSource)
	m.TableProperties = types.MapNull(types.StringType)
	if len(spec.TableProperties) > 0 {
		m.TableProperties = mapValue(spec.TableProperties)
	}
	m.UnvalidatedProperties = types.StringValue(unvalidatedAllow)
	if spec.DenyUnvalidated {
		m.UnvalidatedProperties = types.StringValue(unvalidatedDeny)
	}
	m.Verification = types.StringValue(orDefault(string(spec.Verification), string(promotion.VerifySample)))
	m.Takeover = types.StringValue(orDefault(spec.Takeover, takeoverFence))
	m.OnSourceChange = types.StringValue(orDefault(spec.OnSourceChange, onChangeFail))
	m.LakeLayout = stringOrNull(spec.LakeLayout)
	m.DeletionProtection = types.BoolValue(true)
	m.AllowUntieredDataLoss = types.BoolValue(false)
}

func orDefault(value, def string) string {
	if value == "" {
		return def
	}
	return value
}
