package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

const mask = "***"

// secrets are the values that may appear in no message. Longer ones first, so
// that none is cut by another that is a part of it.
type secrets []string

// clean replaces every secret in a text.
func (s secrets) clean(text string) string {
	for _, v := range s {
		text = strings.ReplaceAll(text, v, mask)
	}
	return text
}

// context makes tflog mask the secrets in what is logged with the context.
func (s secrets) context(ctx context.Context) context.Context {
	if len(s) == 0 {
		return ctx
	}
	ctx = tflog.MaskAllFieldValuesStrings(ctx, s...)
	return tflog.MaskMessageStrings(ctx, s...)
}
