package provider

import (
	"context"
	"sync"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// claims finds two resources for one table in one configuration.
//
// Terraform tells a provider neither a resource's address nor how many there
// are, only one PlanResourceChange after another, in no fixed order. What can be
// relied on: one walk, plan or apply, configures the provider anew and asks once
// for each resource, except that a replacement asks twice: first with the prior
// state, then as a creation with none, whose private state is the one that the
// first answer has planned. See plannedKey.
type claims struct {
	mu     sync.Mutex
	byName map[promotion.TableName]*claim
}

type claim struct {
	prior    *priorClaim // by a resource that is in the state
	creation *creation   // by one that is to be created
}

// priorClaim is a promotion that is in the state.
type priorClaim struct {
	ref  promotion.Ref
	opts promotion.RemoveOptions
}

// creation is the plan of a resource that is not in the state.
type creation struct {
	decided chan struct{} // closed when it is known whether its plan fails
	refused bool          // its plan fails; set before decided is closed
}

// decide says how the plan of a creation has ended. The receiver may be nil.
func (c *creation) decide(refused bool) {
	if c != nil {
		c.refused = refused
		close(c.decided)
	}
}

// conflict says which of two resources for one table is told of it.
type conflict int

const (
	noConflict  conflict = iota
	secondOne            // this resource is one too many
	rightfulOne          // this one is in the state, and the other one's plan does not fail
)

func newClaims() *claims {
	return &claims{byName: map[promotion.TableName]*claim{}}
}

func (c *claims) of(name promotion.TableName) *claim {
	if c.byName[name] == nil {
		c.byName[name] = &claim{}
	}
	return c.byName[name]
}

// existing claims a table for a resource that is in the state. Where one that is
// to be created has claimed it before, it waits for what becomes of that: if its
// plan fails anyway, the one in the state is not to be blamed.
func (c *claims) existing(ctx context.Context, ref promotion.Ref, opts promotion.RemoveOptions) conflict {
	c.mu.Lock()
	cl := c.of(ref.Name)
	if cl.prior != nil {
		c.mu.Unlock()
		return secondOne
	}
	cl.prior = &priorClaim{ref: ref, opts: opts}
	other := cl.creation
	c.mu.Unlock()
	if other == nil {
		return noConflict
	}
	select {
	case <-ctx.Done():
		return noConflict // the walk ends
	case <-other.decided:
	}
	if !other.refused {
		return rightfulOne
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cl.creation = nil
	return noConflict
}

// created claims a table for a resource that is to be created; replacing says
// that it is the second half of a replacement, whose first half is prior then.
// Whoever gets a creation calls decide on it.
func (c *claims) created(name promotion.TableName, replacing bool) (*creation, *priorClaim, conflict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.of(name)
	if cl.creation != nil || cl.prior != nil && !replacing {
		return nil, nil, secondOne
	}
	cl.creation = &creation{decided: make(chan struct{})}
	return cl.creation, cl.prior, noConflict
}
