package promotion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"golang.org/x/sync/errgroup"
)

const (
	sampleKeys  = 100  // a bucket, at least; all where it has fewer
	lookupBatch = 1000 // keys of one lookup request
)

// verify compares Fluss's rows with the source's before any traffic is let in.
func (r *run) verify(ctx context.Context) error {
	if r.hist.verified != nil {
		r.op.setStage(StageVerified)
		return nil
	}
	mode := r.spec.Verification
	if mode == "" {
		mode = VerifySample
	}
	if r.writtenTwice() {
		mode = VerifyFull
	}
	faultpoint.Reach(ctx, faultpoint.VerifyBegin)
	d := Detail{Verification: mode}
	if mode != VerifyNone && r.info.HasPrimaryKey() && r.src.plan != nil {
		if err := r.src.table.CanRead(r.src.plan); err != nil {
			return err
		}
		n, counted, err := r.compareRows(ctx, mode)
		if err != nil {
			return err
		}
		d.Compared, d.CountSource = n, counted
	}
	faultpoint.Reach(ctx, faultpoint.VerifyEnd)
	if err := r.journaled(ctx, EventVerified, d); err != nil {
		return err
	}
	r.op.setStage(StageVerified)
	return nil
}

// compareRows looks source keys up in Fluss and compares the rows byte for
// byte: the encoding is canonical, so equal rows have equal bytes. It returns
// how many were compared and where the number of Fluss rows was taken from.
func (r *run) compareRows(ctx context.Context, mode Verification) (int64, string, error) {
	lay, err := newLayout(r.info, r.src.schema)
	if err != nil {
		return 0, "", err
	}
	tasks, err := r.tasks(ctx)
	if err != nil {
		return 0, "", err
	}
	var compared atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(orDefault(r.spec.Parallelism, defaultParallelism))
	for _, t := range tasks {
		if gctx.Err() != nil {
			break
		}
		safego.Go(g, func() error {
			n, err := r.compareBucket(gctx, lay, t, mode)
			compared.Add(n)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, "", err
	}
	if mode != VerifyFull {
		return compared.Load(), "", nil
	}
	source, err := r.countRows(ctx, tasks, compared.Load())
	return compared.Load(), source, err
}

// compareBucket compares one bucket: every row, or a seeded choice of them.
func (r *run) compareBucket(ctx context.Context, lay *layout, t bucketTask, mode Verification) (int64, error) {
	if t.files == nil || len(t.files.Files) == 0 {
		return 0, nil
	}
	var chosen []int64 // row numbers, ascending; nil: every row
	if mode == VerifySample {
		chosen = sampleRows(r.hist.id, t.key(), r.hist.buckets[t.key()].Rows)
		if len(chosen) == 0 {
			return 0, nil
		}
	}
	rr, err := r.openBucket(ctx, lay, t, 0)
	if err != nil {
		return 0, asFatal(err)
	}
	defer rr.close()
	c := &comparer{r: r, t: t}
	var rowNumber int64
	errEnough := errors.New("enough")
	err = rr.each(ctx, func(e *encoders, pos int) error {
		n := rowNumber
		rowNumber++
		if mode == VerifySample {
			if len(chosen) == 0 {
				return errEnough
			}
			if n != chosen[0] {
				return nil
			}
			chosen = chosen[1:]
		}
		return c.add(ctx, e, pos)
	})
	if !errors.Is(err, io.EOF) && !errors.Is(err, errEnough) {
		return c.n, asFatal(err)
	}
	return c.n, c.flush(ctx)
}

// sampleRows chooses row numbers below rows, seeded by the operation and the
// bucket, so that a repeated verification looks at the same rows.
func sampleRows(operationID, bucket string, rows int64) []int64 {
	if rows <= sampleKeys {
		all := make([]int64, rows)
		for i := range all {
			all[i] = int64(i)
		}
		return all
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s", operationID, bucket)
	rnd := rand.New(rand.NewPCG(h.Sum64(), uint64(rows)))
	picked := make(map[int64]struct{}, sampleKeys)
	for len(picked) < sampleKeys {
		picked[rnd.Int64N(rows)] = struct{}{}
	}
	out := make([]int64, 0, sampleKeys)
	for n := range picked {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// comparer gathers keys with their expected rows and looks them up together.
type comparer struct {
	r    *run
	t    bucketTask
	keys [][]byte
	rows [][]byte
	text []string // of the keys, for a difference
	n    int64
}

func (c *comparer) add(ctx context.Context, e *encoders, pos int) error {
	c.keys = append(c.keys, e.key.Append(nil, pos))
	c.rows = append(c.rows, e.row.Append(nil, pos))
	c.text = append(c.text, e.describeKey(pos))
	if len(c.keys) < lookupBatch {
		return nil
	}
	return c.flush(ctx)
}

func (c *comparer) flush(ctx context.Context) error {
	if len(c.keys) == 0 {
		return nil
	}
	got, err := c.r.c.client.Lookup(ctx, c.r.info, c.t.id, c.keys)
	if err != nil {
		return err
	}
	if len(got) != len(c.keys) {
		return fmt.Errorf("promotion: %d answers to %d lookups in bucket %s", len(got), len(c.keys), c.t.key())
	}
	for i := range got {
		if bytes.Equal(got[i], c.rows[i]) && got[i] != nil {
			continue
		}
		what := "another row"
		if got[i] == nil {
			what = "no row"
		}
		return fatalError{Problem{Severity: SeverityError, Attribute: []string{"verification"}, Summary: "Fluss does not hold the source's rows",
			Found: fmt.Sprintf("%s for the key %s in bucket %s", what, c.text[i], c.t.key()), Required: "the source's row",
			Why: "the loaded table is not equal to the Paimon table; datalake was not enabled",
			Fix: "make sure that nothing else writes to the Fluss table; apply again drops it and loads anew"}}
	}
	c.n += int64(len(got))
	c.keys, c.rows, c.text = c.keys[:0], c.rows[:0], c.text[:0]
	return nil
}

// countRows compares the number of rows in Fluss with the number of source keys.
// A log end offset equal to the rows sent into a fresh bucket proves that every
// row was a new key; buckets loaded more than once are counted by the server.
func (r *run) countRows(ctx context.Context, tasks []bucketTask, want int64) (string, error) {
	var total int64
	source := "log end offsets"
	for _, t := range tasks {
		b := r.hist.buckets[t.key()]
		if b.EndOffset == b.Rows {
			total += b.Rows
			continue
		}
		counts, err := r.c.client.TableStats(ctx, r.info, []fluss.BucketID{t.id})
		if err != nil {
			return "", fmt.Errorf("promotion: rows of bucket %s, counted by the server: %w", t.key(), err)
		}
		n, ok := counts[t.id]
		if !ok {
			return "", fmt.Errorf("promotion: the server gives no row count of bucket %s", t.key())
		}
		source = "table statistics of the server where a bucket was loaded more than once, log end offsets elsewhere"
		total += n
	}
	if total != want {
		return "", fatalError{Problem{Severity: SeverityError, Attribute: []string{"verification"}, Summary: "Fluss holds another number of rows than the source",
			Found: fmt.Sprintf("%d rows (by %s)", total, source), Required: fmt.Sprint(want),
			Fix: "make sure that nothing else writes to the Fluss table; apply again drops it and loads anew"}}
	}
	return source, nil
}
