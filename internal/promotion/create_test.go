package promotion

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// A table that has not come into service is made anew, whatever the servers say
// to that; anything else is the caller's to know.
func TestNotInService(t *testing.T) {
	for _, err := range []error{
		fluss.ErrNotNoticed, fluss.ErrNoLeader, &fluss.Error{Code: wire.CodeUnknownTableOrBucket},
	} {
		if wrapped := fmt.Errorf("offsets of r2/0: given up after 4 tries: %w", err); !notInService(wrapped) {
			t.Errorf("%v counts as in service", wrapped)
		}
	}
	for _, err := range []error{
		nil, errors.New("another"), fluss.ErrConnection, &fluss.Error{Code: wire.CodeAuthorization}, &fluss.Error{Code: wire.CodeUnknownServerError},
	} {
		if notInService(err) {
			t.Errorf("%v counts as not in service", err)
		}
	}
}
