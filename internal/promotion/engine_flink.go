package promotion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
	"github.com/google/uuid"
)

// Flink says where the distributed engine is.
type Flink struct {
	GatewayURL string // of a SQL Gateway
	RestURL    string // of the job manager; "" is found from the gateway's configuration
	HistoryURL string // of a history server; "" is none
}

// FlinkLoad is what one promotion asks of Flink.
type FlinkLoad struct {
	// LakeCatalog and FlussCatalog are catalogs that the gateway's sessions
	// have; "" is one made for the session from the provider's configuration.
	LakeCatalog, FlussCatalog string
	Settings                  map[string]string // of Flink, for the job's session
}

// settingPrefixes are the settings of Flink that a promotion may pass on.
var settingPrefixes = []string{"pipeline.", "execution.", "restart-strategy.", "table.exec.", "table.optimizer.", "cluster.fine-grained-resource-management."}

// ownSettings decide whether a load is right and are not for the user to set.
var ownSettings = []string{"pipeline.name", "execution.runtime-mode", flink.FixedJobID, "table.dml-sync"}

// CheckFlinkSettings says what is wrong with settings; "" if nothing is.
func CheckFlinkSettings(settings map[string]string) string {
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		if slices.Contains(ownSettings, k) {
			return fmt.Sprintf("%q is set by the promotion itself", k)
		}
		if !slices.ContainsFunc(settingPrefixes, func(p string) bool { return strings.HasPrefix(k, p) }) {
			return fmt.Sprintf("%q does not begin with one of %s", k, quoteAll(settingPrefixes))
		}
	}
	return ""
}

func (s *Service) flinkConfig() flink.Config {
	return flink.Config{UserAgent: s.cfg.UserAgent, Secrets: s.cfg.Secrets()}
}

// oldestFlink is the oldest release whose statements and REST services are as
// used here.
var oldestFlink = [2]int{1, 18}

// gateway reaches the SQL Gateway.
func (s *Service) gateway(ctx context.Context) (*flink.Gateway, error) {
	if s.cfg.Flink == nil || s.cfg.Flink.GatewayURL == "" {
		return nil, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "No Flink is configured",
			Found: `load.engine = "flink", and no flink block in the provider's configuration`, Required: "the URL of a SQL Gateway",
			Fix: `add flink = { sql_gateway_url = "http://host:8083" } to the provider block (promotionctl: -flink-gateway or -flink-rest)`}
	}
	g, err := flink.Connect(ctx, s.cfg.Flink.GatewayURL, s.flinkConfig())
	if err != nil {
		return nil, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "Unable to use the Flink SQL Gateway", Found: err.Error(),
			Required: "a SQL Gateway of Flink 1.18 or later", Fix: "correct flink.sql_gateway_url in the provider block, or start the gateway"}
	}
	parts := strings.SplitN(g.Flink, ".", 3)
	var version [2]int
	for i := range version {
		if i < len(parts) {
			version[i], _ = strconv.Atoi(parts[i]) // another spelling is an old version
		}
	}
	if slices.Compare(version[:], oldestFlink[:]) < 0 {
		g.Close()
		return nil, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "The Flink version is too old",
			Found: fmt.Sprintf("Flink %s at %s, API %s", g.Flink, g.Address(), g.APIVersion), Required: "Flink 1.18 or later",
			Fix: "use a newer Flink, with the connectors of Fluss and Paimon for it"}
	}
	return g, nil
}

// flinkSession is a session with both catalogs, and the job manager behind it.
type flinkSession struct {
	s           *Service
	g           *flink.Gateway
	sql         *flink.Session
	jobs        *flink.Jobs
	lake, fluss string // catalogs
	drop        []string
}

func (f *flinkSession) close(ctx context.Context) {
	if f.sql != nil {
		for _, name := range f.drop {
			_ = f.sql.Exec(ctx, "drop a catalog", "DROP CATALOG "+flink.Identifier(name)) // the session's end drops it as well, as a rule
		}
		_ = f.sql.Close(ctx) // it ends when idle
	}
	if f.jobs != nil {
		f.jobs.Close()
	}
	f.g.Close()
}

// openFlink opens a session. Close it.
func (s *Service) openFlink(ctx context.Context, settings map[string]string) (*flinkSession, error) {
	g, err := s.gateway(ctx)
	if err != nil {
		return nil, err
	}
	f := &flinkSession{s: s, g: g}
	if f.sql, err = g.Open(ctx, settings); err == nil {
		f.jobs, err = s.jobsOf(ctx, f.sql)
	}
	if err != nil {
		f.close(ctx)
		return nil, err
	}
	return f, nil
}

// jobsOf finds the job manager: where the user says, else where the gateway's
// own configuration says.
func (s *Service) jobsOf(ctx context.Context, sql *flink.Session) (*flink.Jobs, error) {
	at := s.cfg.Flink.RestURL
	if at == "" {
		conf, err := sql.Config(ctx)
		if err != nil {
			return nil, err
		}
		if at = flink.JobManagerAddress(conf); at == "" {
			return nil, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "The address of Flink's job manager is not known",
				Found:    fmt.Sprintf("rest.address %q and execution.target %q in the SQL Gateway's configuration", conf["rest.address"], conf["execution.target"]),
				Required: "the URL of the job manager's REST service", Fix: `set flink.rest_url = "http://host:8081" in the provider block`}
		}
	}
	return flink.NewJobs(at, s.cfg.Flink.HistoryURL, s.flinkConfig())
}

// flinkJobs reaches the job manager alone.
func (s *Service) flinkJobs(ctx context.Context) (*flink.Jobs, error) {
	if s.cfg.Flink != nil && s.cfg.Flink.RestURL != "" {
		return flink.NewJobs(s.cfg.Flink.RestURL, s.cfg.Flink.HistoryURL, s.flinkConfig())
	}
	f, err := s.openFlink(ctx, nil)
	if err != nil {
		return nil, err
	}
	jobs := f.jobs
	f.jobs = nil
	f.close(ctx)
	return jobs, nil
}

// catalogs makes, or takes, both catalogs, and proves that they are those of
// this promotion: the same cluster by its journal, the same lake table by its path.
func (f *flinkSession) catalogs(ctx context.Context, c *connection, clusterID string, spec Spec) error {
	want := FlinkLoad{}
	if spec.Flink != nil {
		want = *spec.Flink
	}
	unique := strings.ReplaceAll(uuid.NewString()[:8], "-", "")
	var err error
	if f.lake = want.LakeCatalog; f.lake == "" {
		options := map[string]string{}
		if f.s.cfg.Lake != nil {
			maps.Copy(options, f.s.cfg.Lake.Options)
		}
		options["type"], options["metastore"], options["warehouse"] = "paimon", "filesystem", c.warehouse
		f.lake, err = f.create(ctx, "promotion_lake_"+unique, options)
		if err != nil {
			return catalogProblem("Paimon", "the Paimon connector and the file system of the warehouse", err)
		}
	}
	if f.fluss = want.FlussCatalog; f.fluss == "" {
		options := map[string]string{"type": "fluss", "bootstrap.servers": strings.Join(f.s.cfg.Bootstrap, ",")}
		if l := f.s.cfg.SASL; l != nil {
			options["client.security.protocol"] = "SASL"
			options["client.security.sasl.mechanism"] = l.Mechanism
			options["client.security.sasl.username"] = l.Username
			options["client.security.sasl.password"] = l.Password
		}
		f.fluss, err = f.create(ctx, "promotion_fluss_"+unique, options)
		if err != nil {
			return catalogProblem("Fluss", "the Fluss connector", err)
		}
	}
	return f.sameCatalogs(ctx, c, clusterID, spec.Name)
}

func (f *flinkSession) create(ctx context.Context, name string, options map[string]string) (string, error) {
	err := f.sql.Exec(ctx, "create a catalog of type "+options["type"], "CREATE CATALOG "+flink.Identifier(name)+" WITH ("+flink.Options(options)+")")
	if err == nil {
		f.drop = append(f.drop, name)
	}
	return name, err
}

// sameCatalogs looks through the catalogs at what only the right ones hold.
func (f *flinkSession) sameCatalogs(ctx context.Context, c *connection, clusterID string, name TableName) error {
	source, err := f.optionsOf(ctx, f.lake, name)
	if err != nil {
		return catalogProblem("Paimon", "the source table in catalog "+strconv.Quote(f.lake), err)
	}
	want := strings.TrimRight(c.warehouse, "/") + "/" + name.Database + ".db/" + name.Table
	if got := source["path"]; lakePath(got) != lakePath(want) {
		return catalogProblem("Paimon", "the source table at "+want, fmt.Errorf("catalog %q has it at %q", f.lake, got))
	}
	if clusterID == "" { // no journal yet: it is looked at before the job is submitted
		if _, err := f.sql.Query(ctx, "list the databases of the Fluss catalog", "SHOW DATABASES IN "+flink.Identifier(f.fluss)); err != nil && flink.KindOf(err) != flink.KindSyntax {
			return catalogProblem("Fluss", "catalog "+strconv.Quote(f.fluss), err)
		}
		return nil
	}
	journal, err := f.optionsOf(ctx, f.fluss, f.s.cfg.Journal)
	if err != nil {
		return catalogProblem("Fluss", fmt.Sprintf("the journal %s in catalog %q", f.s.cfg.Journal, f.fluss), err)
	}
	if got := journal[clusterIDProperty]; got != clusterID {
		return catalogProblem("Fluss", "cluster ID "+clusterID, fmt.Errorf("catalog %q is of cluster ID %q", f.fluss, got))
	}
	return nil
}

// lakePath brings the spellings of a table's path together that Flink's and the
// cluster's file systems have.
func lakePath(p string) string {
	u, err := url.Parse(p)
	if err == nil && (u.Scheme == "s3a" || u.Scheme == "s3n") {
		u.Scheme = "s3"
		p = u.String()
	}
	return normalURI(p)
}

// optionsOf reads the options that a catalog shows for a table.
func (f *flinkSession) optionsOf(ctx context.Context, catalog string, name TableName) (map[string]string, error) {
	r, err := f.sql.Query(ctx, "look at table "+name.String()+" in catalog "+catalog,
		"SHOW CREATE TABLE "+flink.Identifier(catalog)+"."+flink.Identifier(name.Database)+"."+flink.Identifier(name.Table))
	if err != nil {
		return nil, err
	}
	return createOptions(r.Text(0, 0)), nil
}

var optionLine = regexp.MustCompile(`(?m)^\s*'((?:[^']|'')*)'\s*=\s*'((?:[^']|'')*)'`)

// createOptions are the options in the WITH part of a CREATE TABLE statement.
func createOptions(statement string) map[string]string {
	out := map[string]string{}
	for _, m := range optionLine.FindAllStringSubmatch(statement, -1) {
		out[strings.ReplaceAll(m[1], "''", "'")] = strings.ReplaceAll(m[2], "''", "'")
	}
	return out
}

// catalogProblem says what Flink lacks, as far as its failure shows.
func catalogProblem(of, required string, err error) error {
	p := Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "Flink cannot use the " + of + " catalog", Found: err.Error(), Required: required,
		Fix: "correct the configuration of Flink, or name another catalog in load.flink"}
	var f *flink.Failure
	if !errors.As(err, &f) {
		return p
	}
	switch f.Kind {
	case flink.KindMissingConnector:
		p.Summary = "Flink lacks a connector"
		p.Fix = fmt.Sprintf("put the jar that provides %q into the lib folder of the SQL Gateway, the job manager and the task managers (fluss-flink and paimon-flink for Flink's version; the file system's jar for a warehouse in an object store), and restart them", f.Subject)
	case flink.KindUnreachable:
		p.Fix = "make sure that Flink's machines reach the Fluss cluster under the addresses of bootstrap_servers"
	case flink.KindTableNotFound:
		p.Fix = "name the catalog of this lake and of this cluster in load.flink, or leave it out"
	}
	return p
}

// previewFlink adds to a report what speaks against a load by Flink.
func (r *run) previewFlink(ctx context.Context, rep *Report) {
	if r.spec.engine() != engineFlink || r.hist != nil && (r.hist.loaded != nil || r.hist.enabled != nil) || len(r.src.schema.PrimaryKeys) == 0 {
		return
	}
	cluster, errs := r.flinkUsable(ctx)
	for _, err := range errs {
		rep.add(err)
	}
	if len(errs) == 0 && cluster.SlotsTotal < max(r.spec.Parallelism, 1) {
		rep.add(Problem{Severity: SeverityWarning, Attribute: []string{"load"}, Summary: "Flink has too few task slots at the moment",
			Found: fmt.Sprintf("%d slots of %d task managers", cluster.SlotsTotal, cluster.TaskManagers), Required: fmt.Sprintf("%d, the parallelism of the load", max(r.spec.Parallelism, 1)),
			Fix: "start task managers, unless Flink starts them by itself"})
	}
}

// flinkUsable opens a session as the load will, and looks at the cluster behind
// it.
func (r *run) flinkUsable(ctx context.Context) (flink.Cluster, []error) {
	var errs []error
	if r.spec.Flink != nil {
		if bad := CheckFlinkSettings(r.spec.Flink.Settings); bad != "" {
			errs = append(errs, settingsProblem(bad))
		}
	}
	f, err := r.s.openFlink(ctx, nil)
	if err != nil {
		return flink.Cluster{}, append(errs, flinkProblem(err))
	}
	defer f.close(ctx)
	clusterID := ""
	if r.j != nil {
		clusterID = r.j.clusterID
	}
	if err := f.catalogs(ctx, r.c, clusterID, r.spec); err != nil {
		errs = append(errs, err)
	}
	cluster, err := f.jobs.Cluster(ctx)
	if err != nil {
		errs = append(errs, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "Unable to reach Flink's job manager", Found: err.Error(),
			Required: "the REST service of the job manager that the SQL Gateway submits to", Fix: "set flink.rest_url in the provider block, or start Flink"})
	}
	return cluster, errs
}

// engineReady is asked before anything is made or dropped: whether the engine
// could load what follows.
func (r *run) engineReady(ctx context.Context) error {
	if r.spec.engine() != engineFlink || len(r.src.schema.PrimaryKeys) == 0 || r.src.plan == nil {
		return nil
	}
	_, errs := r.flinkUsable(ctx)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(errs...)
}

func settingsProblem(found string) error {
	return Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "A setting of Flink cannot be passed on", Found: found,
		Required: "settings that begin with one of " + quoteAll(settingPrefixes), Fix: "correct load.flink.settings"}
}

// flinkProblem makes a Problem of whatever Flink's services answered.
func flinkProblem(err error) error {
	if isProblem(err) {
		return err
	}
	return Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "Flink refuses the load", Found: err.Error(),
		Required: "a session of the SQL Gateway that can submit the load", Fix: "look into the logs of the SQL Gateway and of Flink's job manager"}
}
