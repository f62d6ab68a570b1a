package provider

import (
	"context"
	"math"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// The time limits where `timeouts` sets none. One limit is for everything that
// one call does, waiting for its turn to load included.
const (
	defaultCreateTimeout = 12 * time.Hour
	defaultUpdateTimeout = 12 * time.Hour
	defaultDeleteTimeout = 15 * time.Minute
)

const (
	engineNative     = "native"
	engineFlink      = "flink"
	unvalidatedAllow = "allow"
	unvalidatedDeny  = "deny"
	takeoverFence    = "fence"
	takeoverResume   = "resume"
	onChangeFail     = "fail"
	onChangeRestart  = "restart"
	layoutLegacy     = "legacy"
)

// promotionAttributes are the arguments that problems may point to.
var promotionAttributes = attributeKinds{
	"database":                plainAttribute,
	"table":                   plainAttribute,
	"partitions":              plainAttribute,
	"prepare_source":          plainAttribute,
	"table_properties":        mapAttribute,
	"unvalidated_properties":  plainAttribute,
	"acknowledged_properties": plainAttribute,
	"load":                    objectAttribute,
	"verification":            plainAttribute,
	"takeover":                plainAttribute,
	"on_source_change":        plainAttribute,
	"lake_layout":             plainAttribute,
	"source_snapshot_id":      plainAttribute,
	"deletion_protection":     plainAttribute,

	"allow_untiered_data_loss": plainAttribute,
}

func (r *lakePromotionResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"database": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "Database of the promoted table.",
			},
			"table": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "Name of the promoted table.",
			},
		},
	}
}

func (r *lakePromotionResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := promotionArguments()
	attributes["timeouts"] = timeoutsAttribute(ctx)
	for name, attribute := range promotionResults() {
		attributes[name] = attribute
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Promotes an existing Paimon table, in place, to a datalake-enabled Fluss table of the same name. " +
			"`terraform plan` is the preview: it reads metadata, never rows, and changes nothing.",
		Attributes: attributes,
	}
}

func promotionArguments() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"database": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Database of the Paimon table. The Fluss database of that name is created if it is missing, and " +
				"never dropped. Can't be changed.",
			Validators: []validator.String{flussNameValidator{}},
		},
		"table": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Name of the Paimon table, and of the Fluss table that it becomes. Can't be changed.",
			Validators:          []validator.String{flussNameValidator{}},
		},
		"partitions": schema.SetAttribute{
			ElementType: partitionType,
			Optional:    true,
			Computed:    true,
			MarkdownDescription: "Partitions to initialize, each as a map from partition column to Paimon's text of the value. " +
				"Default: all of the source snapshot. The others stay readable through the lake but must get no lookups or writes " +
				"through Fluss." + keptAfterImport,
			PlanModifiers: []planmodifier.Set{kept{onlyImported: true}},
			Validators: []validator.Set{
				setvalidator.SizeAtLeast(1),
				setvalidator.NoNullValues(),
				setvalidator.ValueMapsAre(mapvalidator.SizeAtLeast(1), noNullElements{}),
			},
		},
		"prepare_source": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Whether one metadata-only schema version may be committed to the Paimon table, if it is needed: " +
				"the plan says what it would change. Default `false`." + untilEnabled,
			PlanModifiers: []planmodifier.Bool{settledBool(false)},
		},
		"table_properties": schema.MapAttribute{
			ElementType: types.StringType,
			Optional:    true,
			Computed:    true,
			MarkdownDescription: "Properties of the Fluss table, such as `table.datalake.freshness` or `table.replication.factor`. " +
				"They are set when the table is created." + keptAfterImport,
			PlanModifiers: []planmodifier.Map{kept{onlyImported: true}},
			Validators:    []validator.Map{noNullElements{}},
		},
		"unvalidated_properties": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "What to do with options of the Paimon table that this provider does not know: `allow` (default) " +
				"promotes and lists them in `unvalidated_option_keys`, `deny` fails the plan." + untilEnabled,
			Validators:    []validator.String{stringvalidator.OneOf(unvalidatedAllow, unvalidatedDeny)},
			PlanModifiers: []planmodifier.String{settledString(unvalidatedAllow)},
		},
		"acknowledged_properties": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "Options of the Paimon table whose risk you have taken: unknown ones, accepted then under " +
				"`unvalidated_properties = \"deny\"` and left out of the plan's warning, and known ones that the compatibility guide " +
				"says can be acknowledged.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(nameValidator{})},
		},
		"load": loadAttribute(),
		"verification": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "How much of the loaded table is compared with the source before it is enabled: `sample` " +
				"(default; at least 100 keys of each bucket, or all), `full`, or `none`." + untilEnabled,
			Validators: []validator.String{stringvalidator.OneOf(
				string(promotion.VerifySample), string(promotion.VerifyFull), string(promotion.VerifyNone))},
			PlanModifiers: []planmodifier.String{settledString(string(promotion.VerifySample))},
		},
		"takeover": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "What to do with an unfinished load whose owner is silent but not proven to have ended: `fence` " +
				"(default) drops its table, so that nothing late can be written, and loads again; `resume` goes on, for those who " +
				"know that the old runner is gone." + untilEnabled,
			Validators:    []validator.String{stringvalidator.OneOf(takeoverFence, takeoverResume)},
			PlanModifiers: []planmodifier.String{settledString(takeoverFence)},
		},
		"on_source_change": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "What to do with an unfinished operation whose source has moved on: `fail` (default) or " +
				"`restart`, which drops the unfinished table and starts again." + untilEnabled,
			Validators:    []validator.String{stringvalidator.OneOf(onChangeFail, onChangeRestart)},
			PlanModifiers: []planmodifier.String{settledString(onChangeFail)},
		},
		"lake_layout": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Must be `legacy` for Fluss 0.9, where three nullable system columns are appended to the Paimon " +
				"schema; must not be set for Fluss 1.0 and later, where the Paimon table keeps its columns. Can't be changed " +
				"once the table exists; leaving it out keeps what is in the state then.",
			PlanModifiers: []planmodifier.String{kept{}},
			Validators:    []validator.String{stringvalidator.OneOf(layoutLegacy)},
		},
		"source_snapshot_id": schema.NumberAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Snapshot that was promoted. Set it to pin the promotion to a snapshot that was reviewed: if the " +
				"source has moved on, nothing is done. Not set by the provider if the source has no snapshot.",
			Validators: []validator.Number{wholeNumber{min: 1, max: math.MaxInt64}},
		},
		"deletion_protection": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			Default:  booldefault.StaticBool(true),
			MarkdownDescription: "Whether destroying an enabled promotion is refused, default `true`. To destroy one, apply " +
				"`false` first.",
		},
		"allow_untiered_data_loss": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			Default:  booldefault.StaticBool(false),
			MarkdownDescription: "Whether an enabled promotion may be destroyed with rows that were not tiered to the lake yet; they " +
				"are lost then. Default `false`. It counts as it was last applied.",
		},
	}
}

// untilEnabled is said of arguments that matter only while a promotion runs.
const untilEnabled = " Matters until the promotion is enabled; after that, leaving it out keeps what is in the state."

// keptAfterImport is said of arguments that an import fills from the journal.
const keptAfterImport = " After an import, leaving it out keeps what the promotion was made with."

func loadAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "How the rows of primary-key tables are loaded. Never changes what is loaded.",
		Validators:          []validator.Object{loadValidator{}},
		Attributes: map[string]schema.Attribute{
			"engine": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(engineNative),
				MarkdownDescription: "`native` (default): in the provider's own process. `flink`: by a job of the Flink cluster in the provider's " +
					"`flink` block, which goes on when the provider is stopped; the next apply attaches to it.",
				Validators: []validator.String{availableValidator{what: "load engine", available: []string{engineNative, engineFlink}}},
			},
			"parallelism": schema.NumberAttribute{
				Optional:            true,
				MarkdownDescription: "Buckets loaded at a time; with engine `flink`, the parallelism of the job. Default: 4, fewer where rows are so wide that memory would not do; with `flink`, what Flink has.",
				Validators:          []validator.Number{wholeNumber{min: 1, max: 1024}},
			},
			"batch_bytes": schema.NumberAttribute{
				Optional:            true,
				MarkdownDescription: "Size of one batch in bytes, for engine `native`. Default: 1 MiB.",
				Validators:          []validator.Number{wholeNumber{min: 1 << 10, max: 64 << 20}},
			},
			"max_in_flight": schema.NumberAttribute{
				Optional:            true,
				MarkdownDescription: "Batches of one bucket that may be unanswered at a time, for engine `native`. Default: 2.",
				Validators:          []validator.Number{wholeNumber{min: 1, max: 5}},
			},
			"spill_bytes": schema.NumberAttribute{
				Optional: true,
				MarkdownDescription: "Bytes of temporary files through which large buckets are sorted by key, for engine `native`, shared equally by the buckets " +
					"loaded at a time; `0` for none, which makes the load of large tables slower. Default: 4 GiB. Never more than half of what is free when the load begins is taken. The files are in the folder that the " +
					"environment variable `TMPDIR` names, else in `/var/tmp`, and are gone when the provider ends, also when it is killed (but on Windows).",
				Validators: []validator.Number{wholeNumber{min: 0, max: 1 << 50}},
			},
			"flink": flinkLoadAttribute(),
		},
	}
}

func timeoutsAttribute(ctx context.Context) schema.Attribute {
	attribute := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, Update: true, Delete: true,
		CreateDescription: "Time limit of a promotion, as \"30m\" or \"6h\"; waiting for its turn to load counts. Default \"12h\".",
		UpdateDescription: "Time limit of going on with an unfinished promotion. Default \"12h\".",
		DeleteDescription: "Time limit of a removal. Default \"15m\".",
	})
	if nested, ok := attribute.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = "Time limits. When one ends, the operation stops where it is and the next apply goes on."
		nested.Validators = append(nested.Validators, positiveTimeouts{})
		return nested
	}
	return attribute
}

func promotionResults() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true, MarkdownDescription: "`database.table`.",
		},
		"cluster_id": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "ID of the cluster's journal. It is compared first, so that a wrong address is never taken for a table that is gone.",
		},
		"operation_id": schema.StringAttribute{
			Computed: true, MarkdownDescription: "ID of the promotion in the journal.",
		},
		"stage": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "How far the promotion has come: `validated`, `created`, `prepared`, `loading`, `loaded`, " +
				"`registered`, `verified`, `enabled`; `disabled` if somebody has switched the datalake off since, `failed` if it " +
				"ended. With any but `enabled`, the next apply goes on.",
		},
		"table_id": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "ID of the Fluss table.",
		},
		"source_schema_id": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "ID of the Paimon schema that was promoted.",
		},
		"registered_snapshot_id": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "Paimon snapshot that was registered with Fluss as the lake snapshot.",
		},
		"initialized_partitions": schema.ListAttribute{
			ElementType: partitionType, Computed: true,
			MarkdownDescription: "Partitions whose rows Fluss holds, sorted. Empty for a table without partitions.",
		},
		"load_job_id": schema.StringAttribute{
			Computed: true, MarkdownDescription: "ID of the Flink job that loaded the table. Null where none did.",
		},
		"rows_loaded": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "Rows written to Fluss.",
		},
		"bytes_loaded": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "Bytes of the batches written to Fluss. Null with engine `flink`, whose jobs do not tell it.",
		},
		"bucket_offsets": schema.MapAttribute{
			ElementType: types.Int64Type, Computed: true,
			MarkdownDescription: "Log end offsets that were registered, by bucket number, behind the name of the Fluss partition and a slash in partitioned tables.",
		},
		"source_changes": schema.ListAttribute{
			ElementType: types.StringType, Computed: true,
			MarkdownDescription: "What was set on the Paimon table.",
		},
		"unvalidated_option_keys": schema.ListAttribute{
			ElementType: types.StringType, Computed: true,
			MarkdownDescription: "Options of the Paimon table that this provider does not know. A promotion is no guarantee for what they do.",
		},
		"promoted_at": schema.StringAttribute{
			Computed: true, MarkdownDescription: "When the promotion was enabled, in RFC 3339.",
		},
	}
}
