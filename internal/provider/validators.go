package provider

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ validator.String = hostPortValidator{}
	_ validator.String = flussNameValidator{}
	_ validator.String = availableValidator{}
	_ validator.String = nameValidator{}
	_ validator.Map    = noNullElements{}
	_ validator.Object = positiveTimeouts{}
	_ validator.Number = wholeNumber{}
)

// hostPortValidator accepts "host:port".
type hostPortValidator struct{}

func (hostPortValidator) Description(context.Context) string { return "must be host:port" }

func (v hostPortValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (hostPortValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	address := req.ConfigValue.ValueString()
	if wrong := checkHostPort(address); wrong != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid server address",
			"Found: "+strconv.Quote(address)+". "+wrong)
	}
}

// flussName is what Fluss accepts as the name of a database or table, besides
// the length and the reserved prefix.
var flussName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const (
	maxFlussName  = 200
	flussNameText = "1 to 200 letters, digits, _ and -, not beginning with __"
)

func validFlussName(name string) bool {
	return flussName.MatchString(name) && len(name) <= maxFlussName && !strings.HasPrefix(name, "__")
}

// flussNameValidator accepts what Fluss accepts as a name.
type flussNameValidator struct{}

func (flussNameValidator) Description(context.Context) string {
	return flussNameText
}

func (v flussNameValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v flussNameValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	name := req.ConfigValue.ValueString()
	if validFlussName(name) {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid name",
		"Found: "+strconv.Quote(name)+".\nRequired: "+v.Description(ctx)+
			"; Fluss accepts no other names, and a promoted table keeps the name it has in Paimon.")
}

// availableValidator accepts what this release has, and says what it has.
type availableValidator struct {
	what      string
	available []string
}

func (v availableValidator) Description(context.Context) string {
	return "this release has " + strings.Join(v.available, ", ")
}

func (v availableValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v availableValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if value := req.ConfigValue.ValueString(); !slices.Contains(v.available, value) {
		resp.Diagnostics.AddAttributeError(req.Path, "Unavailable "+v.what,
			fmt.Sprintf("Found: %q.\nRequired: what this release of the provider has: %s.", value, quoteList(v.available)))
	}
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, v := range list {
		quoted[i] = strconv.Quote(v)
	}
	return strings.Join(quoted, ", ")
}

// noNullElements refuses null values and blank keys in a map: Paimon and Fluss
// have no such options, and leaving one out silently would do something else
// than it says.
type noNullElements struct{}

func (noNullElements) Description(context.Context) string {
	return "values must not be null, and keys not blank"
}

func (v noNullElements) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (noNullElements) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	checkNoNulls(req.Path, req.ConfigValue.Elements(), &resp.Diagnostics)
}

func checkNoNulls(at path.Path, elements map[string]attr.Value, diags *diag.Diagnostics) {
	for key, value := range elements {
		if value.IsNull() {
			diags.AddAttributeError(at, "Null value",
				fmt.Sprintf("Found: null for the key %q.\nRequired: a text.\nWhat to do: leave the key out, or give it a value.", key))
		}
		if strings.TrimSpace(key) == "" {
			diags.AddAttributeError(at, "Empty name in a map",
				fmt.Sprintf("Found: the key %q.\nRequired: a name.\nWhat to do: correct or remove the key.", key))
		}
	}
}

// nameValidator refuses names that are empty or have blanks around them.
type nameValidator struct{}

func (nameValidator) Description(context.Context) string {
	return "must be a name without blanks around it"
}

func (v nameValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v nameValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if name := req.ConfigValue.ValueString(); name == "" || strings.TrimSpace(name) != name {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid option name",
			fmt.Sprintf("Found: %q.\nRequired: %s, such as \"team.owner\".\nWhat to do: correct or remove it.", name, strings.TrimPrefix(v.Description(ctx), "must be ")))
	}
}

// positiveTimeouts refuses time limits in which nothing can be done.
type positiveTimeouts struct{}

func (positiveTimeouts) Description(context.Context) string { return "time limits above zero" }

func (v positiveTimeouts) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (positiveTimeouts) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for name, value := range req.ConfigValue.Attributes() {
		text, ok := value.(types.String)
		if !ok || text.IsNull() || text.IsUnknown() {
			continue
		}
		// Texts that are no duration are refused by the attribute's own validator.
		if d, err := time.ParseDuration(text.ValueString()); err == nil && d <= 0 {
			resp.Diagnostics.AddAttributeError(req.Path.AtName(name), "Invalid time limit",
				fmt.Sprintf("Found: %q.\nRequired: more than zero, such as \"6h\".", text.ValueString()))
		}
	}
}

// wholeNumber accepts whole numbers from min to max.
type wholeNumber struct{ min, max int64 }

func (v wholeNumber) Description(context.Context) string {
	if v.max == math.MaxInt64 {
		return fmt.Sprintf("a whole number from %d on", v.min)
	}
	return fmt.Sprintf("a whole number from %d to %d", v.min, v.max)
}

func (v wholeNumber) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v wholeNumber) ValidateNumber(ctx context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	f := req.ConfigValue.ValueBigFloat()
	n, accuracy := f.Int64()
	if accuracy == big.Exact && v.min <= n && n <= v.max {
		return
	}
	text := f.Text('g', 20)
	required := v.Description(ctx)
	if f.IsInt() && v.max == math.MaxInt64 && f.Sign() > 0 {
		required += fmt.Sprintf(", at most %d", v.max)
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid number", fmt.Sprintf("Found: %s.\nRequired: %s.", text, required))
}
