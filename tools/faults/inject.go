package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// faulted runs the command and makes the fault hit at the schedule's point.
func (r *run) faulted(ctx context.Context, command []string) error {
	limit, done := context.WithTimeout(ctx, applyLimit)
	defer done()
	order, more := r.order("wait"), []string(nil)
	switch r.Fault {
	case providerKilled:
		order = r.order("kill")
	case ownerElsewhere:
		order, more = r.order("kill"), []string{"FLUSS_FAULT_HOST=elsewhere"}
	case clocksApart:
		shift := map[string]string{"first-ahead": "5h", "first-behind": "-5h"}[r.Variant]
		order, more = r.order("kill"), []string{"FLUSS_FAULT_CLOCK=" + shift}
	case providerStopped:
		order = r.order("stop")
	case terraformInt2:
		order = r.order("hold") // not wound down before the second
	}
	var cmd *running
	var pid int
	for try := 1; ; try++ {
		var err error
		if cmd, err = r.w.start(limit, r.environment(order, more...), command...); err != nil {
			return err
		}
		if pid, err = r.reached(limit, cmd); err == nil {
			break
		}
		if limit.Err() == nil {
			r.rep.First = cmd.wait()
		}
		if !contains(flatten(r.rep.First.text), "than the lease allows", "does not bring new tables into service") || try == slowTries {
			return err
		}
		r.rep.Evidence = append(r.rep.Evidence, "before the point, without a fault: "+r.rep.First.Said)
	}
	err := r.inject(limit, cmd, pid)
	if err != nil {
		_ = send(pid, syscall.SIGCONT)
	}
	if relErr := r.release(); err == nil {
		err = relErr
	}
	r.rep.First = cmd.wait()
	if err == nil {
		err = r.afterFirst(ctx, pid)
	}
	return err
}

// inject makes the fault hit while the provider, process pid, is at the point.
func (r *run) inject(ctx context.Context, cmd *running, pid int) error {
	if r.group != nil {
		return r.group.arrive(ctx, r)
	}
	switch r.Fault {
	case providerKilled, ownerElsewhere, clocksApart:
		return r.gone(ctx, pid)
	case providerStopped:
		return r.stopped(ctx, pid)
	case terraformInt, terraformInt2:
		return r.interrupted(ctx, cmd, pid)
	case connectionsCut:
		return r.cut(ctx)
	case connectionsSlow:
		ms := r.between(200, 1200)
		return r.toxic(ctx, "latency", fmt.Sprintf(`{"latency":%d,"jitter":%d}`, ms, ms/4), time.Duration(ms/2)*time.Millisecond)
	case connectionsThin:
		return r.toxic(ctx, "bandwidth", fmt.Sprintf(`{"rate":%d}`, r.between(4, 40)), 0)
	case answerLost:
		return r.lose(ctx)
	case journalDeleted:
		return r.deleteJournal(ctx)
	}
	return fmt.Errorf("no way to inject %s", r.Fault)
}

// gone waits for the end of a provider that was killed at its point.
func (r *run) gone(ctx context.Context, pid int) error {
	for alive(pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("provider %d lives on after its SIGKILL: %w", pid, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if r.Fault == providerKilled {
		r.hit("process %d is gone", pid)
	}
	return nil
}

// stopped lets the provider sleep and wake up.
func (r *run) stopped(ctx context.Context, pid int) error {
	for range 300 {
		if processState(pid) == 'T' {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if s := processState(pid); s != 'T' {
		return fmt.Errorf("provider %d is in state %q, not stopped", pid, s)
	}
	began := time.Now()
	switch r.Variant {
	case "superseded":
		if err := r.supersede(ctx); err != nil {
			return err
		}
	case "lease-lost":
		sleep(ctx, lease()+time.Duration(r.between(200, 2500))*time.Millisecond)
	default:
		sleep(ctx, time.Duration(r.between(100, 1500))*time.Millisecond)
	}
	if s := processState(pid); s != 'T' {
		return fmt.Errorf("provider %d is in state %q after %s, not stopped", pid, s, time.Since(began))
	}
	if err := send(pid, syscall.SIGCONT); err != nil {
		return err
	}
	r.hit("process %d was stopped (state T) for %s and continued", pid, time.Since(began).Round(time.Millisecond))
	return nil
}

// supersede promotes the table from another workspace while the owner sleeps.
// Where it may not yet, that is the right answer while a dropper sleeps.
func (r *run) supersede(ctx context.Context) error {
	first := r.w
	w, err := newWorkspace(first.dir+"2", r.u.provider, r.config())
	if err != nil {
		return err
	}
	commands := [][]string{apply()}
	if r.Drop == dropDestroy {
		commands = [][]string{{"import", "-input=false", address, r.db + "." + templateTable}, destroy(), apply()}
	}
	r.w = w // where it ends
	for _, c := range commands {
		o, err := w.run(ctx, r.environment(""), c...)
		if err != nil {
			return err
		}
		r.rep.Beside = append(r.rep.Beside, o)
		if o.Exit != 0 && !r.clear(o, false) {
			r.differ("the error beside a sleeping owner is not clear: %s", excerpt(o.text))
		}
		if o.Exit != 0 && c[0] != "import" {
			break
		}
	}
	return nil
}

// interrupted sends Terraform one SIGINT or two.
func (r *run) interrupted(ctx context.Context, cmd *running, pid int) error {
	if err := send(cmd.cmd.Process.Pid, syscall.SIGINT); err != nil {
		return err
	}
	if r.Fault == terraformInt {
		sleep(ctx, time.Duration(r.between(0, 300))*time.Millisecond)
		return nil
	}
	sleep(ctx, time.Duration(r.between(20, 400))*time.Millisecond)
	if err := send(cmd.cmd.Process.Pid, syscall.SIGINT); err != nil {
		return err
	}
	return r.gone(ctx, pid)
}

// cut breaks the connections while the point is held and for a while after it.
func (r *run) cut(ctx context.Context) error {
	r.links.reset()
	keep := time.Duration(r.between(300, 2500)) * time.Millisecond
	switch r.Variant {
	case "refused", "refused-past-lease":
		if r.Variant == "refused-past-lease" {
			keep += lease() + heartbeat
		}
		r.links.cut()
	case "reset":
		if err := r.links.add("cut", "reset_peer", "downstream", `{"timeout":0}`); err != nil {
			return err
		}
	case "hanging":
		if err := r.links.add("cut", "timeout", "downstream", `{"timeout":1500}`); err != nil {
			return err
		}
	}
	if err := r.release(); err != nil {
		return err
	}
	sleep(ctx, keep)
	// Not over before something was hit.
	for range 100 {
		if r.links.total().broken > 0 {
			break
		}
		sleep(ctx, 100*time.Millisecond)
	}
	broken := r.links.total().broken
	var err error
	if r.Variant == "refused" || r.Variant == "refused-past-lease" {
		err = r.links.mend()
	} else {
		err = r.links.remove(ctx, "cut")
	}
	if broken > 0 {
		r.hit("%d connections were broken or refused within %s (%s)", broken, keep, r.Variant)
	}
	return err
}

// toxic slows the connections down for some seconds from the point on. atLeast
// is what a request must have taken; 0: what passed must have kept to the rate.
func (r *run) toxic(ctx context.Context, kind, attributes string, atLeast time.Duration) error {
	for _, stream := range []string{"upstream", "downstream"} {
		if err := r.links.add("slow-"+stream, kind, stream, attributes); err != nil {
			return err
		}
	}
	r.links.reset()
	began := time.Now()
	if err := r.release(); err != nil {
		return err
	}
	keep := time.Duration(r.between(2000, 7000)) * time.Millisecond
	sleep(ctx, keep)
	for range 100 {
		if r.links.total().answers > 0 {
			break
		}
		sleep(ctx, 100*time.Millisecond)
	}
	t := r.links.total()
	for _, stream := range []string{"upstream", "downstream"} {
		if err := r.links.remove(ctx, "slow-"+stream); err != nil {
			return err
		}
	}
	if t.answers > 0 && t.slowest >= atLeast {
		r.hit("%s %s: %d requests, %d answers, %d bytes in %s; the slowest took %s", kind, attributes, t.requests, t.answers, t.bytes,
			time.Since(began).Round(time.Millisecond), t.slowest.Round(time.Millisecond))
	}
	return nil
}

// lose has the answer to the request at the point lost.
func (r *run) lose(ctx context.Context) error {
	keys := map[faultpoint.Point][]wire.Key{
		faultpoint.CreateTableBefore:     {wire.CreateTable},
		faultpoint.CreatePartitionBefore: {wire.CreatePartition},
		faultpoint.LoadSend:              {wire.PutKV},
		faultpoint.RegisterPrepareBefore: {wire.PrepareLakeTableSnapshot},
		faultpoint.RegisterCommitBefore:  {wire.CommitLakeTableSnapshot},
		faultpoint.VerifyBegin:           {wire.Lookup},
		faultpoint.EnableBefore:          {wire.AlterTable},
		faultpoint.DropBefore:            {wire.DropTable},
	}[r.Point]
	if keys == nil { // a journal append
		keys = []wire.Key{wire.PutKV}
	}
	r.links.loseNext(keys...)
	if err := r.release(); err != nil {
		return err
	}
	for range 200 {
		if lost := r.links.lostSoFar(); len(lost) > 0 {
			r.hit("%s", lost[0])
			return nil
		}
		sleep(ctx, 50*time.Millisecond)
	}
	return nil
}

func (r *run) deleteJournal(ctx context.Context) error {
	if err := r.c.client.DropTable(ctx, r.journalPath(), false); err != nil {
		return fmt.Errorf("deleting the journal: %w", err)
	}
	there, err := r.c.client.TableExists(ctx, r.journalPath())
	if err != nil {
		return err
	}
	if !there {
		r.hit("the table %s was dropped and is gone", r.journal)
	}
	return nil
}

// afterFirst is the part of the evidence that the first command's end gives.
func (r *run) afterFirst(ctx context.Context, pid int) error {
	text := flatten(r.rep.First.text)
	switch r.Fault {
	case terraformInt:
		if contains(text, "Interrupt received") {
			r.hit("Terraform said that it was interrupted; exit %d", r.rep.First.Exit)
		}
	case terraformInt2:
		if contains(text, "Two interrupts received") {
			r.hit("Terraform said that it was interrupted twice; provider %d is gone", pid)
		}
	case clocksApart, ownerElsewhere:
		return r.ownerRecorded(ctx, pid)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
