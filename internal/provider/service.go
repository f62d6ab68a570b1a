package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Promoter is what the resources and data sources need of the promotion
// package. *promotion.Service is the one that talks to a cluster; tests script
// another one to show what Terraform makes of its answers.
type Promoter interface {
	// Preview reads metadata of the source and the cluster and writes nothing.
	// Incompatibilities are in the report; an error means it could not look.
	Preview(ctx context.Context, spec promotion.Spec) (*promotion.Report, error)
	// Run promotes, or goes on with what an earlier run has left. The result is
	// filled as far as it is known, also with an error.
	Run(ctx context.Context, spec promotion.Spec, progress func(promotion.Progress)) (promotion.Result, promotion.Problems, error)
	// Observe reads how a promotion stands.
	Observe(ctx context.Context, ref promotion.Ref) (*promotion.Observation, error)
	// CheckRemove says whether Remove would refuse, and changes nothing.
	CheckRemove(ctx context.Context, ref promotion.Ref, opts promotion.RemoveOptions) error
	// Remove removes the Fluss table by the rules of removal.
	Remove(ctx context.Context, ref promotion.Ref, opts promotion.RemoveOptions) error
	// Cancel asks a running promotion to stop and waits for the proof of its end.
	Cancel(ctx context.Context, name promotion.TableName, reason string, watch func(*promotion.Status)) (promotion.CancelOutcome, error)
}

// PromoterFactory makes a Promoter. It must not connect: Terraform configures
// providers in situations in which nothing is to be asked.
type PromoterFactory func(cfg promotion.Config) (Promoter, error)

// newService is the PromoterFactory of the released provider.
func newService(cfg promotion.Config) (Promoter, error) {
	svc, err := promotion.New(cfg)
	if err != nil {
		return nil, err
	}
	return svc, nil
}

// providerData is what Configure hands to resources and data sources.
type providerData struct {
	promoter Promoter // nil: part of the provider's configuration is not known yet
	unknown  string   // the argument of the provider that is not known
	secrets  secrets
	claims   *claims
	running  *running
}

// ready says whether there is a client. The receiver may be nil: Terraform
// validates without configuring.
func (d *providerData) ready() bool { return d != nil && d.promoter != nil }

// unconfigured is the sentence about a missing client.
func (d *providerData) unconfigured() string {
	if d != nil && d.unknown != "" {
		return fmt.Sprintf("The provider's argument %q is not known yet; it depends on something that the next apply creates.", d.unknown)
	}
	return "The provider is not configured."
}

// fromProviderData reads what Terraform hands to a Configure method: nil while
// it only validates.
func fromProviderData(v any, diags *diag.Diagnostics) *providerData {
	if v == nil {
		return nil
	}
	data, ok := v.(*providerData)
	if !ok {
		diags.AddError("Unexpected provider data",
			fmt.Sprintf("Found: %T. Required: *provider.providerData. This is a defect of the provider; please report it.", v))
		return nil
	}
	return data
}

// guard calls a Promoter so that a panic in it becomes an error, with the place
// of the panic in the log.
func guard(ctx context.Context, call func() error) error {
	working.Add(1)
	defer working.Add(-1)
	err := safego.Do(call)
	var panicked *safego.PanicError
	if errors.As(err, &panicked) {
		tflog.Trace(ctx, "panic", map[string]any{"value": fmt.Sprint(panicked.Value), "stack": string(panicked.Stack)})
	}
	return err
}

// running keeps two resources of one process from working on one table at a
// time. Between processes the journal's lease does that.
type running struct {
	mu    sync.Mutex
	names map[promotion.TableName]struct{}
}

func newRunning() *running {
	return &running{names: map[promotion.TableName]struct{}{}}
}

// start reports false if somebody works on the table already. Who got true
// calls stop.
func (r *running) start(name promotion.TableName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.names[name]; busy {
		return false
	}
	r.names[name] = struct{}{}
	return true
}

func (r *running) stop(name promotion.TableName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, name)
}
