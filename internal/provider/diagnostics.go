package provider

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// attributeKind says how a path goes on below a top-level attribute.
type attributeKind int

const (
	plainAttribute  attributeKind = iota // a value, list or set: the path ends here
	mapAttribute                         // keys
	objectAttribute                      // names
)

// attributeKinds are the arguments of a resource or data source that problems
// may point to.
type attributeKinds map[string]attributeKind

// path turns the attribute of a problem into a path. ok is false if the problem
// is about the whole, or names something that is not in the schema: a path that
// Terraform cannot find would hide the message's place rather than show it.
func (k attributeKinds) path(attribute []string) (p path.Path, ok bool) {
	if len(attribute) == 0 {
		return path.Empty(), false
	}
	kind, ok := k[attribute[0]]
	if !ok {
		return path.Empty(), false
	}
	p = path.Root(attribute[0])
	for _, step := range attribute[1:] {
		switch kind {
		case mapAttribute:
			return p.AtMapKey(step), true
		case objectAttribute:
			return p.AtName(step), true
		case plainAttribute:
			return p, true
		}
	}
	return p, true
}

// problemDiagnostic is one problem as a diagnostic of its own severity, with
// the tail as a last paragraph.
func problemDiagnostic(p promotion.Problem, kinds attributeKinds, s secrets, tail string) diag.Diagnostic {
	summary, detail := s.clean(p.Summary), s.clean(joinParagraphs(p.Detail(), tail))
	at, ok := kinds.path(p.Attribute)
	switch {
	case p.Severity == promotion.SeverityWarning && ok:
		return diag.NewAttributeWarningDiagnostic(at, summary, detail)
	case p.Severity == promotion.SeverityWarning:
		return diag.NewWarningDiagnostic(summary, detail)
	case ok:
		return diag.NewAttributeErrorDiagnostic(at, summary, detail)
	default:
		return diag.NewErrorDiagnostic(summary, detail)
	}
}

// errorDiagnostics are the diagnostics of an error: one for each problem in it,
// or one with the summary. At least one is an error. The tail closes the last.
func errorDiagnostics(summary string, err error, kinds attributeKinds, s secrets, tail string) diag.Diagnostics {
	var diags diag.Diagnostics
	problems := problemsIn(err)
	for i, p := range problems {
		t := ""
		if i == len(problems)-1 {
			t = tail
		}
		diags.Append(problemDiagnostic(p, kinds, s, t))
	}
	if !diags.HasError() {
		diags.AddError(summary, s.clean(joinParagraphs(sentence(err.Error()), tail)))
	}
	return diags
}

// problemsIn are the problems that an error is made of; nil for other errors.
func problemsIn(err error) promotion.Problems {
	var all promotion.Problems
	if errors.As(err, &all) {
		return all
	}
	var one promotion.Problem
	if errors.As(err, &one) {
		return promotion.Problems{one}
	}
	return nil
}

// warningDiagnostics are problems as warnings, whatever severity they say.
//
// Terraform prints only the first of several warnings with the same summary,
// over all resources, and counts the others. So the summary names the table,
// and what one table has under the same summary is put together.
func warningDiagnostics(problems promotion.Problems, name promotion.TableName, kinds attributeKinds, s secrets) diag.Diagnostics {
	var merged promotion.Problems
	details := map[string][]string{}
	for _, p := range problems {
		if _, seen := details[p.Summary]; !seen {
			merged = append(merged, promotion.Problem{Severity: promotion.SeverityWarning, Attribute: p.Attribute, Summary: p.Summary})
		}
		details[p.Summary] = append(details[p.Summary], p.Detail())
	}
	var diags diag.Diagnostics
	for _, p := range merged {
		detail := joinParagraphs(details[p.Summary]...)
		p.Summary = named(p.Summary, name)
		diags.Append(problemDiagnostic(p, kinds, s, detail))
	}
	return diags
}

// named is the summary of a warning about a table.
func named(summary string, name promotion.TableName) string {
	return summary + ": " + name.String()
}

func joinParagraphs(parts ...string) string {
	kept := make([]string, 0, len(parts))
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

// sentence ends a text with a full stop, so that what follows reads well.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?;:") {
		return text
	}
	return text + "."
}
