package promotion

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// secretName matches the names of catalog options whose values are secret
// however short they are.
var secretName = regexp.MustCompile(`(?i)secret|password|passwd|token|credential|access[-_.]?key|account[-_.]?key|signature|\bsas\b`)

// minSecret is the length from which the value of a catalog option with a
// harmless name is masked too: lake options are sensitive as a whole, but
// masking every "1" or "eu" would make messages unreadable.
const minSecret = 6

// Secrets are the texts that may appear in no message, as they are and as
// messages quote them. Longer ones come first, so that none is cut by another
// that is a part of it.
func (c Config) Secrets() []string {
	var s []string
	if c.SASL != nil && c.SASL.Password != "" {
		s = append(s, c.SASL.Password)
	}
	if c.Lake != nil {
		for name, value := range c.Lake.Options {
			if value != "" && (secretName.MatchString(name) || len(value) >= minSecret && !isPlainWord(value)) {
				s = append(s, value)
			}
		}
	}
	if c.Flink != nil {
		for _, address := range []string{c.Flink.GatewayURL, c.Flink.RestURL, c.Flink.HistoryURL} {
			u, err := url.Parse(address)
			if err != nil {
				continue
			}
			if pw, ok := u.User.Password(); ok && pw != "" {
				s = append(s, pw, url.PathEscape(pw), url.QueryEscape(pw))
			}
		}
	}
	// The text of a Go error may hold the value quoted, that of a Flink statement
	// with its quotation marks doubled.
	for _, v := range s {
		if q := strconv.Quote(v); q != `"`+v+`"` {
			s = append(s, strings.Trim(q, `"`))
		}
		if q := strings.ReplaceAll(v, "'", "''"); q != v {
			s = append(s, q)
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
