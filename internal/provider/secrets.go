package provider

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

const mask = "***"

// secrets are the values that may appear in no message. Longer ones first, so
// that none is cut by another that is a part of it.
type secrets []string

// secretName matches the names of catalog options whose values are secret
// however short they are.
var secretName = regexp.MustCompile(`(?i)secret|password|passwd|token|credential|access[-_.]?key|account[-_.]?key|signature|\bsas\b`)

// minSecret is the length from which the value of a catalog option with a
// harmless name is masked too: all of `lake.options` is declared sensitive, but
// masking every "1" or "eu" would make messages unreadable.
const minSecret = 6

// collectSecrets lists the secret values of a configuration.
func collectSecrets(cfg promotion.Config) secrets {
	var s secrets
	if cfg.SASL != nil && cfg.SASL.Password != "" {
		s = append(s, cfg.SASL.Password)
	}
	if cfg.Lake != nil {
		for name, value := range cfg.Lake.Options {
			if value != "" && (secretName.MatchString(name) || len(value) >= minSecret && !isPlainWord(value)) {
				s = append(s, value)
			}
		}
	}
	if cfg.Flink != nil {
		for _, address := range []string{cfg.Flink.GatewayURL, cfg.Flink.RestURL, cfg.Flink.HistoryURL} {
			u, err := url.Parse(address)
			if err != nil {
				continue
			}
			if pw, ok := u.User.Password(); ok && pw != "" {
				s = append(s, pw, url.PathEscape(pw), url.QueryEscape(pw))
			}
		}
	}
	// The text of a Go error may hold the value quoted.
	for _, v := range s {
		if q := strconv.Quote(v); q != `"`+v+`"` {
			s = append(s, strings.Trim(q, `"`))
		}
	}
	slices.Sort(s)
	s = slices.Compact(s)
	slices.SortStableFunc(s, func(a, b string) int { return len(b) - len(a) })
	return s
}

// isPlainWord says whether a value is a number or a truth value.
func isPlainWord(v string) bool {
	if _, err := strconv.ParseFloat(v, 64); err == nil {
		return true
	}
	_, err := strconv.ParseBool(v)
	return err == nil
}

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
