package provider

import (
	"sync"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// claims finds two resources for one table in one configuration.
//
// Terraform tells a provider neither a resource's address nor how many there
// are, only one PlanResourceChange after another. What can be relied on
// (terraform-behaviour.md, E11, E14): one walk, plan or apply, configures the
// provider anew and asks once for each resource, except that a replacement asks
// twice: first with the prior state, then as a creation with none. So a second
// creation, a second prior state, or a prior state behind a creation is another
// resource; a creation behind a prior state may be a replacement.
type claims struct {
	mu     sync.Mutex
	byName map[promotion.TableName]*claim
}

type claim struct {
	existing, created bool
	// prior is the promotion in the prior state, for the creation half of a
	// replacement; nil without one.
	prior *priorClaim
}

// priorClaim is a promotion that a replacement would remove.
type priorClaim struct {
	ref  promotion.Ref
	opts promotion.RemoveOptions
}

func newClaims() *claims {
	return &claims{byName: map[promotion.TableName]*claim{}}
}

// existing claims a table for a resource that is in the state. It reports false
// if another resource has the table.
func (c *claims) existing(ref promotion.Ref, opts promotion.RemoveOptions) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[ref.Name] != nil {
		return false
	}
	c.byName[ref.Name] = &claim{existing: true, prior: &priorClaim{ref: ref, opts: opts}}
	return true
}

// created claims a table for a resource that is to be created. It reports false
// if another resource has the table. A non-nil prior means that this may be the
// second half of replacing it.
func (c *claims) created(name promotion.TableName) (prior *priorClaim, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.byName[name]
	switch {
	case cl == nil:
		c.byName[name] = &claim{created: true}
		return nil, true
	case cl.created:
		return nil, false
	}
	cl.created = true
	return cl.prior, true
}
