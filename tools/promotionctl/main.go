// Command promotionctl looks at promotions from outside, through their journal,
// and asks a running one to stop. It serves where Terraform cannot: the apply
// that runs a promotion holds its workspace's lock.
//
//	promotionctl status [flags] database.table   where it stands, once
//	promotionctl watch  [flags] database.table   a line that follows it until it ends
//	promotionctl cancel [flags] database.table   ask it to stop and wait for the proof
//
// The cluster is named by -bootstrap or FLUSS_BOOTSTRAP_SERVERS, a login by
// FLUSS_SASL_USERNAME and FLUSS_SASL_PASSWORD. A load by Flink whose owner is
// gone is stopped in Flink: -flink-rest, or -flink-gateway. Exit status: 0 done, 1 failed or
// refused, 2 wrong usage, 3 (watch) the promotion ended without being complete.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

const usage = `promotionctl looks at lake promotions from outside.

  promotionctl status [flags] database.table   where it stands, once
  promotionctl watch  [flags] database.table   follow it until it ends
  promotionctl cancel [flags] database.table   ask it to stop and wait for the proof

Flags:
`

// errUsage is a wrong command line, errEnded a watched promotion that ended
// without being complete.
var (
	errUsage = errors.New("wrong usage")
	errEnded = errors.New("the promotion is not complete")
)

type options struct {
	name    promotion.TableName
	config  promotion.Config
	timeout time.Duration
	every   time.Duration
	reason  string
	json    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "promotionctl:", err, "\nSee promotionctl -h.")
		os.Exit(2)
	case errors.Is(err, errEnded):
		fmt.Fprintln(os.Stderr, "promotionctl:", err)
		os.Exit(3)
	default:
		fmt.Fprintln(os.Stderr, "promotionctl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		_, _ = parse("status", []string{"-h"}, errOut)
		return flag.ErrHelp
	}
	commands := map[string]func(context.Context, *promotion.Service, options, io.Writer) error{"status": status, "watch": watch, "cancel": cancel}
	do, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("%w: no command %q; there are status, watch and cancel", errUsage, args[0])
	}
	opt, err := parse(args[0], args[1:], errOut)
	if err != nil {
		return err
	}
	svc, err := promotion.New(opt.config)
	if err != nil {
		return err
	}
	defer svc.Close()
	if opt.timeout > 0 {
		limit, done := context.WithTimeout(ctx, opt.timeout)
		defer done()
		ctx = limit
	}
	return do(ctx, svc, opt, out)
}

func parse(command string, args []string, errOut io.Writer) (options, error) {
	flags := flag.NewFlagSet("promotionctl "+command, flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprint(errOut, usage)
		flags.PrintDefaults()
	}
	opt := options{config: promotion.Config{UserAgent: "promotionctl"}}
	bootstrap := flags.String("bootstrap", os.Getenv("FLUSS_BOOTSTRAP_SERVERS"), "servers of the Fluss cluster, `host:port,…` (default: FLUSS_BOOTSTRAP_SERVERS)")
	var at promotion.Flink
	flags.StringVar(&at.RestURL, "flink-rest", "", "cancel: `URL` of the job manager, to stop a load by Flink whose owner is gone (default: found through -flink-gateway)")
	flags.StringVar(&at.GatewayURL, "flink-gateway", "", "cancel: `URL` of the SQL Gateway, in place of -flink-rest")
	flags.StringVar(&at.HistoryURL, "flink-history", "", "cancel: `URL` of Flink's history server, where it has one")
	journal := flags.String("journal", "promotion.journal", "the journal, as `database.table`")
	flags.DurationVar(&opt.config.Heartbeat, "heartbeat", 15*time.Second, "the heartbeat interval of the provider that runs the promotion")
	flags.DurationVar(&opt.timeout, "timeout", 0, "give up after this long (default: status 30s, cancel 10m, watch never)")
	flags.DurationVar(&opt.every, "every", time.Second, "watch: how often to look")
	flags.StringVar(&opt.reason, "reason", "cancelled with promotionctl", "cancel: written into the journal")
	flags.BoolVar(&opt.json, "json", false, "status: print one JSON object")
	// Flags may stand on either side of the table.
	if err := flags.Parse(args); err != nil {
		return opt, parseError(err)
	}
	table := flags.Arg(0)
	if flags.NArg() > 1 {
		if err := flags.Parse(flags.Args()[1:]); err != nil {
			return opt, parseError(err)
		}
		if flags.NArg() > 0 {
			return opt, fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
		}
	}
	var err error
	if opt.name, err = tableName("the table", table); err != nil {
		return opt, err
	}
	if opt.config.Journal, err = tableName("-journal", *journal); err != nil {
		return opt, err
	}
	switch {
	case strings.TrimSpace(*bootstrap) == "":
		return opt, fmt.Errorf("%w: no servers: give -bootstrap or set FLUSS_BOOTSTRAP_SERVERS", errUsage)
	case opt.every < 100*time.Millisecond:
		return opt, fmt.Errorf("%w: -every is %s; required is at least 100ms", errUsage, opt.every)
	case opt.config.Heartbeat <= 0:
		return opt, fmt.Errorf("%w: -heartbeat is %s; required is more than zero", errUsage, opt.config.Heartbeat)
	case opt.timeout < 0:
		return opt, fmt.Errorf("%w: -timeout is %s; required is more than zero", errUsage, opt.timeout)
	}
	if at != (promotion.Flink{}) {
		opt.config.Flink = &at
	}
	for server := range strings.SplitSeq(*bootstrap, ",") {
		opt.config.Bootstrap = append(opt.config.Bootstrap, strings.TrimSpace(server))
	}
	if user := os.Getenv("FLUSS_SASL_USERNAME"); user != "" {
		opt.config.SASL = &promotion.SASL{Mechanism: "PLAIN", Username: user, Password: os.Getenv("FLUSS_SASL_PASSWORD")}
	}
	if opt.timeout == 0 {
		opt.timeout = map[string]time.Duration{"status": 30 * time.Second, "cancel": 10 * time.Minute}[command]
	}
	return opt, nil
}

// parseError marks what the flag package has already printed.
func parseError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

func tableName(what, text string) (promotion.TableName, error) {
	database, table, ok := strings.Cut(text, ".")
	if !ok || database == "" || table == "" || strings.Contains(table, ".") {
		return promotion.TableName{}, fmt.Errorf("%w: %s is %q; required is database.table", errUsage, what, text)
	}
	return promotion.TableName{Database: database, Table: table}, nil
}
