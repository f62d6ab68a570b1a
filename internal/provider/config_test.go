package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func object(attributes map[string]attr.Value) types.Object {
	kinds := map[string]attr.Type{}
	for name, value := range attributes {
		kinds[name] = value.Type(nil) //nolint:staticcheck // types of plain values need no context
	}
	return types.ObjectValueMust(kinds, attributes)
}

func number(n int64) types.Number { return numberOrNull(&n) }

func stringValues(values ...string) types.List {
	return listValue(values)
}

func emptyProvider() providerModel {
	return providerModel{
		BootstrapServers: types.ListNull(types.StringType),
		SASL:             types.ObjectNull(nil), Lake: types.ObjectNull(nil), Journal: types.ObjectNull(nil),
		MaxConcurrentLoads: types.NumberNull(),
	}
}

func texts(diags diag.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		if at, ok := d.(diag.DiagnosticWithPath); ok {
			b.WriteString(at.Path().String() + ": ")
		}
		b.WriteString(d.Summary() + ": " + d.Detail() + "\n")
	}
	return b.String()
}

func TestProviderConfig(t *testing.T) {
	for _, c := range []struct {
		name  string
		model func(*providerModel)
		env   settings
		check func(promotion.Config) bool
		fails string
	}{
		{
			name: "servers from the environment", env: settings{envBootstrapServers: " a:1, b:2 ,"},
			check: func(cfg promotion.Config) bool {
				return slices.Equal(cfg.Bootstrap, []string{"a:1", "b:2"}) && cfg.SASL == nil && cfg.Lake == nil &&
					cfg.Journal == promotion.TableName{Database: "promotion", Table: "journal"}
			},
		},
		{
			name: "the argument before the environment", env: settings{envBootstrapServers: "a:1"},
			model: func(m *providerModel) { m.BootstrapServers = stringValues("c:3") },
			check: func(cfg promotion.Config) bool { return slices.Equal(cfg.Bootstrap, []string{"c:3"}) },
		},
		{name: "no servers", fails: "bootstrap_servers: Missing bootstrap servers"},
		{name: "bad server", env: settings{envBootstrapServers: "a"}, fails: "bootstrap_servers: Invalid server address"},
		{
			name: "login from the environment",
			env:  settings{envBootstrapServers: "a:1", envSASLMechanism: "plain", envSASLUsername: "u", envSASLPassword: "p"},
			check: func(cfg promotion.Config) bool {
				return *cfg.SASL == promotion.SASL{Mechanism: "PLAIN", Username: "u", Password: "p"}
			},
		},
		{
			name: "password from the environment", env: settings{envBootstrapServers: "a:1", envSASLPassword: "p"},
			model: func(m *providerModel) {
				m.SASL = object(map[string]attr.Value{"username": types.StringValue("me"), "password": types.StringNull(), "mechanism": types.StringNull()})
			},
			check: func(cfg promotion.Config) bool {
				return *cfg.SASL == promotion.SASL{Mechanism: "PLAIN", Username: "me", Password: "p"}
			},
		},
		{name: "half a login", env: settings{envBootstrapServers: "a:1", envSASLUsername: "u"}, fails: "sasl: Incomplete SASL login: Found: no password"},
		{
			name: "unknown mechanism", fails: "Unknown SASL mechanism",
			env: settings{envBootstrapServers: "a:1", envSASLMechanism: "SCRAM", envSASLUsername: "u", envSASLPassword: "p"},
		},
		{
			name: "lake and journal", env: settings{envBootstrapServers: "a:1"},
			model: func(m *providerModel) {
				m.Lake = object(map[string]attr.Value{
					"warehouse": types.StringValue("file:///w"), "metastore": types.StringNull(), "options": mapValue(map[string]string{"s3.endpoint": "e"}),
				})
				m.Journal = object(map[string]attr.Value{"database": types.StringValue("ops"), "table": types.StringNull()})
				m.MaxConcurrentLoads = number(3)
			},
			check: func(cfg promotion.Config) bool {
				return cfg.Lake.Warehouse == "file:///w" && cfg.Lake.Metastore == "filesystem" && cfg.Lake.Options["s3.endpoint"] == "e" &&
					cfg.Journal.String() == "ops.journal" && cfg.MaxConcurrentLoads == 3
			},
		},
		{
			name: "flink", env: settings{envBootstrapServers: "a:1"},
			model: func(m *providerModel) {
				m.Flink = object(map[string]attr.Value{"sql_gateway_url": types.StringValue("http://g:1"), "rest_url": types.StringValue("http://r:2"),
					"history_server_url": types.StringNull()})
			},
			check: func(cfg promotion.Config) bool {
				return *cfg.Flink == promotion.Flink{GatewayURL: "http://g:1", RestURL: "http://r:2"}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := emptyProvider()
			if c.model != nil {
				c.model(&m)
			}
			if c.env == nil {
				c.env = settings{}
			}
			cfg, diags := m.config(c.env)
			switch {
			case c.fails != "":
				if text := texts(diags); !strings.Contains(text, c.fails) {
					t.Errorf("diagnostics %q lack %q", text, c.fails)
				}
			case diags.HasError():
				t.Error(texts(diags))
			case !c.check(cfg):
				t.Errorf("config: %+v", cfg)
			}
		})
	}
}

func TestHostPort(t *testing.T) {
	for address, good := range map[string]bool{
		"localhost:9123": true, "10.0.0.1:1": true, "[::1]:9123": true, "fluss-1.example:65535": true,
		"": false, "localhost": false, ":9123": false, "localhost:": false, "localhost:0": false, "localhost:65536": false,
		"localhost:x": false, "::1:9123": false, "http://localhost:9123": false,
	} {
		if got := checkHostPort(address) == ""; got != good {
			t.Errorf("%q: %v, want %v", address, got, good)
		}
	}
}

func TestSchemas(t *testing.T) {
	p := New("test")()
	var resp provider.SchemaResponse
	p.Schema(t.Context(), provider.SchemaRequest{}, &resp)
	if diags := resp.Schema.ValidateImplementation(t.Context()); diags.HasError() {
		t.Error(texts(diags))
	}
	for name := range providerAttributes {
		if _, ok := resp.Schema.Attributes[name]; !ok {
			t.Errorf("provider has no attribute %s", name)
		}
	}
	checkResourceSchema(t)
}

func TestSecrets(t *testing.T) {
	s := secrets(promotion.Config{
		SASL: &promotion.SASL{Password: `pa"s's`},
		Lake: &promotion.Lake{Options: map[string]string{
			"s3.access-key": "ab", "s3.endpoint": "http://minio:9000", "s3.path-style-access": "true", "region": "eu", "size": "1234567", "s3.secret-key": "7654321",
		}},
	}.Secrets())
	for text, want := range map[string]string{
		`login with pa"s's`:               "login with ***",
		`login "pa\"s's"`:                 `login "***"`,
		`'password'='pa"s''s'`:            `'password'='***'`,
		"secret 7654321":                  "secret ***",
		"GET http://minio:9000/bucket":    "GET ***/bucket",
		"region eu, path style true, 123": "region eu, path style true, 123",
		"size 1234567":                    "size 1234567",
		"key ab":                          "key ***",
		"nothing":                         "nothing",
	} {
		if got := s.clean(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	s = promotion.Config{Flink: &promotion.Flink{GatewayURL: "http://me:p%40ss@g:1"}}.Secrets()
	if got := s.clean("http://me:p%40ss@g:1 said p@ss"); got != "http://me:***@g:1 said ***" {
		t.Errorf("password of a URL: %q", got)
	}
	if got := (promotion.Config{}).Secrets(); len(got) != 0 {
		t.Errorf("secrets of nothing: %q", got)
	}
}
