package provider

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// The object types of the data source's results.
var (
	problemType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"rule":                  types.StringType,
		"attribute":             types.StringType,
		"summary":               types.StringType,
		"found":                 types.StringType,
		"required":              types.StringType,
		"why":                   types.StringType,
		"fix":                   types.StringType,
		"prepare_source_can_do": types.BoolType,
	}}
	sourcePartitionType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"values":   partitionType,
		"rows":     types.Int64Type,
		"bytes":    types.Int64Type,
		"files":    types.Int64Type,
		"selected": types.BoolType,
	}}
	sourceChangeType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"what":      types.StringType,
		"from":      types.StringType,
		"to":        types.StringType,
		"statement": types.StringType,
	}}
	existingType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"operation_id": types.StringType,
		"stage":        types.StringType,
		"plan":         types.StringType,
		"promoted":     types.BoolType,
	}}
)

func (d *lakeCompatibilityDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := compatibilityResults()
	for name, attribute := range compatibilityArguments() {
		attributes[name] = attribute
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The preview of a promotion as data: whether a Paimon table can become a Fluss table, what stands " +
			"against it, and what would be done. It reads metadata, never rows, and changes nothing.",
		Attributes: attributes,
	}
}

func compatibilityArguments() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"database": schema.StringAttribute{
			Required: true, MarkdownDescription: "Database of the Paimon table.",
			Validators: []validator.String{flussNameValidator{}},
		},
		"table": schema.StringAttribute{
			Required: true, MarkdownDescription: "Name of the Paimon table.",
			Validators: []validator.String{flussNameValidator{}},
		},
		"partitions": schema.SetAttribute{
			ElementType: partitionType, Optional: true,
			MarkdownDescription: "Partitions to initialize, as in `fluss_lake_promotion`.",
			Validators: []validator.Set{
				setvalidator.SizeAtLeast(1),
				setvalidator.NoNullValues(),
				setvalidator.ValueMapsAre(mapvalidator.SizeAtLeast(1), noNullElements{}),
			},
		},
		"prepare_source": schema.BoolAttribute{
			Optional: true, MarkdownDescription: "As in `fluss_lake_promotion`: with `true`, what it can do is no error. Default `false`.",
		},
		"table_properties": schema.MapAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Properties of the Fluss table, as in `fluss_lake_promotion`.",
			Validators:          []validator.Map{noNullElements{}},
		},
		"unvalidated_properties": schema.StringAttribute{
			Optional: true, MarkdownDescription: "`allow` (default) or `deny`, as in `fluss_lake_promotion`.",
			Validators: []validator.String{stringvalidator.OneOf(unvalidatedAllow, unvalidatedDeny)},
		},
		"acknowledged_properties": schema.SetAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Options of the Paimon table whose risk is taken, as in `fluss_lake_promotion`.",
			Validators:          []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(nameValidator{})},
		},
		"lake_layout": schema.StringAttribute{
			Optional: true, MarkdownDescription: "`legacy` for Fluss 0.9, as in `fluss_lake_promotion`.",
			Validators: []validator.String{stringvalidator.OneOf(layoutLegacy)},
		},
		"source_snapshot_id": schema.NumberAttribute{
			Optional: true, MarkdownDescription: "Snapshot that the source must be at.",
			Validators: []validator.Number{wholeNumber{min: 1, max: math.MaxInt64}},
		},
	}
}

func compatibilityResults() map[string]schema.Attribute {
	computedStrings := func(text string) schema.Attribute {
		return schema.ListAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: text}
	}
	computedNumber := func(text string) schema.Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: text}
	}
	return map[string]schema.Attribute{
		"id":         schema.StringAttribute{Computed: true, MarkdownDescription: "`database.table`."},
		"compatible": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the table can be promoted as it was asked for, or has been already: there are no errors."},
		"errors":     problemsAttribute("What stands against the promotion."),
		"warnings":   problemsAttribute("What to know before."),
		"cluster_generation": schema.StringAttribute{
			Computed: true, MarkdownDescription: "Generation of the cluster, found from what it offers: `0.9` or `1.0`.",
		},
		"snapshot_id": computedNumber("Snapshot of the source; not set if it has none."),
		"pin_snapshot_id": computedNumber("What to set `source_snapshot_id` of the promotion to: the snapshot that was promoted, where the " +
			"table is promoted, otherwise `snapshot_id`. It does not move on when the tiering service commits."),
		"schema_id":      computedNumber("Schema of the source."),
		"primary_key":    computedStrings("Columns of the primary key; empty for a log table."),
		"partition_keys": computedStrings("Partition columns; empty without partitions."),
		"buckets":        computedNumber("Buckets of a partition."),
		"rows":           computedNumber("Rows in the files of the selected partitions: at least as many as the table shows."),
		"bytes":          computedNumber("Bytes in the files of the selected partitions."),
		"files":          computedNumber("Files of the selected partitions."),
		"options": schema.MapAttribute{
			ElementType: types.ListType{ElemType: types.StringType}, Computed: true,
			MarkdownDescription: "Options of the source by class: `accepted` (kept, same meaning), `must_set` (to be set or changed " +
				"first), `mirrored` (carried as `paimon.<option>`), `rejected`, `no_influence` and `unvalidated` (not known to this " +
				"provider). Every class is there, if only as an empty list.",
		},
		"source_partitions": schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: "Partitions of the source; one without values for a table without partitions.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"values": schema.MapAttribute{
					ElementType: types.StringType, Computed: true,
					MarkdownDescription: "Paimon's text of the values by partition column, as `partitions` takes them.",
				},
				"rows":     computedNumber("Rows in the files: at least as many as the partition shows."),
				"bytes":    computedNumber("Bytes in the files."),
				"files":    computedNumber("Files."),
				"selected": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it would be initialized."},
			}},
		},
		"source_changes": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Metadata-only changes that the Paimon table needs; `prepare_source` makes them.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"what":      schema.StringAttribute{Computed: true, MarkdownDescription: "What is changed."},
				"from":      schema.StringAttribute{Computed: true, MarkdownDescription: "Present value; not set if there is none."},
				"to":        schema.StringAttribute{Computed: true, MarkdownDescription: "New value; not set if it is removed."},
				"statement": schema.StringAttribute{Computed: true, MarkdownDescription: "Flink SQL that does the same, where there is one."},
			}},
		},
		"statements": computedStrings("Flink SQL to run instead of `prepare_source`, in order."),
		"existing": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Operation that Fluss already holds under the table's name; not set if there is none.",
			Attributes: map[string]schema.Attribute{
				"operation_id": schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the operation."},
				"stage":        schema.StringAttribute{Computed: true, MarkdownDescription: "How far it has come."},
				"plan":         schema.StringAttribute{Computed: true, MarkdownDescription: "What apply would do with it."},
				"promoted": schema.BoolAttribute{
					Computed: true, MarkdownDescription: "Whether it is complete and has promoted this very Paimon table, which was not dropped and made anew since. " +
						"That the table is promoted is no error then.",
				},
			},
		},
	}
}

func problemsAttribute(text string) schema.Attribute {
	return schema.ListNestedAttribute{
		Computed: true, MarkdownDescription: text,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"rule":      schema.StringAttribute{Computed: true, MarkdownDescription: "Compatibility rule, such as `option.merge-engine`."},
			"attribute": schema.StringAttribute{Computed: true, MarkdownDescription: "Argument that it is about; not set for the whole."},
			"summary":   schema.StringAttribute{Computed: true, MarkdownDescription: "One sentence."},
			"found":     schema.StringAttribute{Computed: true, MarkdownDescription: "What was found."},
			"required":  schema.StringAttribute{Computed: true, MarkdownDescription: "What would be right."},
			"why":       schema.StringAttribute{Computed: true, MarkdownDescription: "Why."},
			"fix":       schema.StringAttribute{Computed: true, MarkdownDescription: "Statement or setting that removes the problem, where there is one."},
			"prepare_source_can_do": schema.BoolAttribute{
				Computed: true, MarkdownDescription: "Whether `prepare_source = true` removes the problem.",
			},
		}},
	}
}
