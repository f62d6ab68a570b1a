package provider

import (
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

const (
	envBootstrapServers = "FLUSS_BOOTSTRAP_SERVERS"
	envSASLMechanism    = "FLUSS_SASL_MECHANISM"
	envSASLUsername     = "FLUSS_SASL_USERNAME"
	envSASLPassword     = "FLUSS_SASL_PASSWORD"

	defaultJournalDatabase = "promotion"
	defaultJournalTable    = "journal"
)

// providerAttributes are the arguments that problems of a configuration may
// point to.
var providerAttributes = attributeKinds{
	"bootstrap_servers":    plainAttribute,
	"sasl":                 objectAttribute,
	"lake":                 objectAttribute,
	"flink":                objectAttribute,
	"journal":              objectAttribute,
	"max_concurrent_loads": plainAttribute,
}

type providerModel struct {
	BootstrapServers   types.List   `tfsdk:"bootstrap_servers"`
	SASL               types.Object `tfsdk:"sasl"`
	Lake               types.Object `tfsdk:"lake"`
	Flink              types.Object `tfsdk:"flink"`
	Journal            types.Object `tfsdk:"journal"`
	MaxConcurrentLoads types.Number `tfsdk:"max_concurrent_loads"`
}

// unknown names the first argument that is not known yet; "" if all are.
func (m providerModel) unknown() string {
	return firstUnknown(
		namedValue{"bootstrap_servers", m.BootstrapServers},
		namedValue{"sasl", m.SASL},
		namedValue{"lake", m.Lake},
		namedValue{"flink", m.Flink},
		namedValue{"journal", m.Journal},
		namedValue{"max_concurrent_loads", m.MaxConcurrentLoads},
	)
}

// settings are environment variables by name.
type settings map[string]string

func environment() settings {
	s := settings{}
	for _, name := range []string{envBootstrapServers, envSASLMechanism, envSASLUsername, envSASLPassword} {
		s[name] = os.Getenv(name)
	}
	return s
}

// config turns a wholly known model into the configuration of the promoter.
func (m providerModel) config(env settings) (promotion.Config, diag.Diagnostics) {
	var diags diag.Diagnostics
	cfg := promotion.Config{
		Journal: promotion.TableName{
			Database: stringOr(member(m.Journal, "database"), defaultJournalDatabase),
			Table:    stringOr(member(m.Journal, "table"), defaultJournalTable),
		},
		MaxConcurrentLoads: int(intOr(m.MaxConcurrentLoads, 0)),
	}
	cfg.Bootstrap = m.bootstrap(env, &diags)
	cfg.SASL = m.sasl(env, &diags)
	if !m.Lake.IsNull() {
		cfg.Lake = &promotion.Lake{
			Warehouse: stringOr(member(m.Lake, "warehouse"), ""),
			Metastore: stringOr(member(m.Lake, "metastore"), "filesystem"),
			Options:   stringMap(member(m.Lake, "options")),
		}
	}
	if !m.Flink.IsNull() {
		cfg.Flink = &promotion.Flink{
			GatewayURL: stringOr(member(m.Flink, "sql_gateway_url"), ""),
			RestURL:    stringOr(member(m.Flink, "rest_url"), ""),
			HistoryURL: stringOr(member(m.Flink, "history_server_url"), ""),
		}
	}
	return cfg, diags
}

func (m providerModel) bootstrap(env settings, diags *diag.Diagnostics) []string {
	at := path.Root("bootstrap_servers")
	if !m.BootstrapServers.IsNull() {
		return stringList(m.BootstrapServers)
	}
	var servers []string
	for server := range strings.SplitSeq(env[envBootstrapServers], ",") {
		server = strings.TrimSpace(server)
		if server == "" {
			continue
		}
		if err := checkHostPort(server); err != "" {
			diags.AddAttributeError(at, "Invalid server address",
				"Found: "+strconv.Quote(server)+" in the environment variable "+envBootstrapServers+". "+err)
			continue
		}
		servers = append(servers, server)
	}
	if len(servers) == 0 && !diags.HasError() {
		diags.AddAttributeError(at, "Missing bootstrap servers",
			"Found: neither the argument bootstrap_servers nor the environment variable "+envBootstrapServers+".\n"+
				"Required: the address of at least one server of the Fluss cluster.\n"+
				`What to do: set bootstrap_servers = ["host:9123"] in the provider block.`)
	}
	return servers
}

// sasl is nil without any setting for a login.
func (m providerModel) sasl(env settings, diags *diag.Diagnostics) *promotion.SASL {
	at := path.Root("sasl")
	login := promotion.SASL{
		Mechanism: stringOr(member(m.SASL, "mechanism"), env[envSASLMechanism]),
		Username:  stringOr(member(m.SASL, "username"), env[envSASLUsername]),
		Password:  stringOr(member(m.SASL, "password"), env[envSASLPassword]),
	}
	if m.SASL.IsNull() && login == (promotion.SASL{}) {
		return nil
	}
	if login.Mechanism == "" {
		login.Mechanism = "PLAIN"
	}
	login.Mechanism = strings.ToUpper(login.Mechanism)
	if login.Mechanism != "PLAIN" {
		diags.AddAttributeError(at, "Unknown SASL mechanism",
			"Found: "+strconv.Quote(login.Mechanism)+" in the environment variable "+envSASLMechanism+". Required: PLAIN.")
	}
	for _, part := range []struct{ name, value, env string }{
		{"username", login.Username, envSASLUsername},
		{"password", login.Password, envSASLPassword},
	} {
		if part.value == "" {
			diags.AddAttributeError(at, "Incomplete SASL login",
				"Found: no "+part.name+".\nRequired: user name and password.\nWhat to do: set sasl."+part.name+
					" in the provider block or the environment variable "+part.env+".")
		}
	}
	return &login
}

// checkHostPort says in words what is wrong with an address; "" if nothing is.
func checkHostPort(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return `Required: host:port, such as "fluss-1:9123" or "[::1]:9123".`
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "Required: a port from 1 to 65535 behind the colon."
	}
	return ""
}

// namedValue is an argument for messages.
type namedValue struct {
	name  string
	value attr.Value
}

// firstUnknown names the first value that is unknown, or has something unknown
// in it; "" if none is.
func firstUnknown(values ...namedValue) string {
	for _, v := range values {
		if !whollyKnown(v.value) {
			return v.name
		}
	}
	return ""
}
