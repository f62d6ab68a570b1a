package flink

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Kind is what a failure of Flink is about, as far as it is recognised.
type Kind string

const (
	KindOther            Kind = "other"
	KindMissingConnector Kind = "missing-connector" // Subject: the identifier no jar provides, or the file system scheme
	KindTableNotFound    Kind = "table-not-found"
	KindType             Kind = "type"
	KindNoSlots          Kind = "no-slots"
	KindUnreachable      Kind = "unreachable" // Flink cannot reach something, such as a Fluss cluster
	KindSessionLost      Kind = "session-lost"
	KindDuplicateJob     Kind = "duplicate-job"
	KindSyntax           Kind = "syntax"
)

// Failure is a statement that the gateway refused or failed to run, or the
// cause of a failed job. Its text has no stack trace.
type Failure struct { //nolint:errname // a finding first: the cause of a job too
	Doing   string // what was being done, in words; never the statement, which may hold secrets
	Kind    Kind
	Subject string // see Kind
	// Causes are the messages of the exceptions, outermost first; a message may
	// have several lines.
	Causes []string
}

// Root is the innermost cause, without the name of its Java class.
func (f *Failure) Root() string {
	if len(f.Causes) == 0 {
		return "no cause given"
	}
	return message(f.Causes[len(f.Causes)-1])
}

func (f *Failure) Error() string {
	text := f.Root()
	if f.Kind == KindSyntax {
		text = firstLine(text) // the rest lists what a parser would have liked better
	}
	// The innermost cause alone often lacks what it happened to: the statement's
	// own exception says that.
	if outer := f.outer(); outer != "" && !strings.Contains(outer, firstLine(text)) && !strings.Contains(text, outer) {
		text = strings.TrimRight(outer, ". ") + ": " + text
	}
	if f.Doing != "" {
		text = f.Doing + ": " + text
	}
	return "flink: " + text
}

// outer is the first line of the outermost cause that is not a wrapper.
func (f *Failure) outer() string {
	for _, c := range f.Causes[:max(len(f.Causes)-1, 0)] {
		if wrapper.MatchString(c) {
			continue
		}
		return firstLine(message(c))
	}
	return ""
}

// wrapper matches exceptions that only say that something failed.
var wrapper = regexp.MustCompile(`^(org\.apache\.flink\.table\.gateway\.|java\.util\.concurrent\.|java\.lang\.RuntimeException: (java|org)\.|` +
	`org\.apache\.flink\.runtime\.rest\.handler\.|org\.apache\.flink\.table\.api\.TableException: Failed to execute sql|` +
	`org\.apache\.flink\.util\.FlinkException: Failed to execute job|org\.apache\.flink\.runtime\.JobException: Recovery is suppressed|` +
	`org\.apache\.flink\.util\.FlinkRuntimeException: Exceeded checkpoint)`)

var className = regexp.MustCompile(`^(?:[a-z][\w$]*\.)+[\w$]+: ?`)

// message is a cause without the name of its Java class.
func message(cause string) string {
	rest := className.ReplaceAllString(cause, "")
	if strings.TrimSpace(rest) == "" {
		return strings.TrimSpace(cause)
	}
	return strings.TrimSpace(rest)
}

// reasons are tried in order on all causes together.
var reasons = []struct {
	kind Kind
	text *regexp.Regexp // a group, where there is one, is the subject
}{
	{KindMissingConnector, regexp.MustCompile(`Could not find any factory for identifier '([^']+)'`)},
	{KindMissingConnector, regexp.MustCompile(`Could not find a file (?:io|system) implementation for scheme '([^']+)'`)},
	{KindMissingConnector, regexp.MustCompile(`(?:NoClassDefFoundError|ClassNotFoundException): (\S*(?:fluss|paimon|hadoop)\S*)`)},
	{KindDuplicateJob, regexp.MustCompile(`DuplicateJobSubmissionException`)},
	{KindSessionLost, regexp.MustCompile(`Session '[^']*' does not exist`)},
	{KindNoSlots, regexp.MustCompile(`NoResourceAvailableException|Could not acquire the minimum required resources|Slot request bulk is not fulfillable`)},
	{KindType, regexp.MustCompile(`Column types of query result and sink|Incompatible types for sink column|Unsupported type|UnsupportedOperationException: .*[Tt]ype|Cannot apply '.*' to arguments of type`)},
	{KindTableNotFound, regexp.MustCompile(`Object '([^']+)' not found|Cannot find table '([^']+)'|TableNotExistException|Table with identifier '([^']+)' does not exist|Database '[^\n]+' doesn't exist|DatabaseNotExistException|A catalog with name \[([^\]]+)\] does not exist|Cannot obtain metadata information from Catalog (\w+)`)},
	{KindUnreachable, regexp.MustCompile(`Failed to initialize fluss client connection|Connection refused|UnknownHostException|ConnectTimeoutException|NoRouteToHostException`)},
	{KindSyntax, regexp.MustCompile(`SqlParser\w*Exception|SqlParseException|SQL parse failed`)},
}

// newFailure reads a stack trace.
func newFailure(doing, trace string) *Failure {
	f := &Failure{Doing: doing, Kind: KindOther, Causes: causes(trace)}
	all := strings.Join(f.Causes, "\n")
	for _, r := range reasons {
		m := r.text.FindStringSubmatch(all)
		if m == nil {
			continue
		}
		f.Kind = r.kind
		for _, g := range m[1:] {
			if g != "" {
				f.Subject = g
				break
			}
		}
		break
	}
	return f
}

// asFailure makes a Failure of a service's refusal; other errors stay.
func asFailure(doing string, err error) error {
	var a *answer
	if err == nil || !errors.As(err, &a) || len(a.texts) == 0 {
		if err != nil && doing != "" {
			return fmt.Errorf("%s: %w", doing, err)
		}
		return err
	}
	return newFailure(doing, strings.Join(a.texts, "\n"))
}

// KindOf is the kind of the Failure in err; "" if there is none.
func KindOf(err error) Kind {
	var f *Failure
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}

const serverSide = "<Exception on server side:"

// causes are the messages of a Java stack trace, outermost first, without
// frames, repetitions and suppressed exceptions. There is always one.
func causes(trace string) []string {
	var out []string
	open := false // whether the next line may belong to the last message
	for _, raw := range strings.Split(trace, "\n") {
		text := strings.TrimSpace(raw)
		frame := strings.HasPrefix(raw, "\t") && (strings.HasPrefix(text, "at ") || strings.HasPrefix(text, "... ") || strings.HasPrefix(text, "Suppressed: ") ||
			strings.HasPrefix(text, "Caused by: "))
		switch {
		case frame, text == "Internal server error.", strings.HasPrefix(text, "End of exception"):
			open = false
			continue
		case text == "":
			continue
		case strings.HasPrefix(text, "at ") && strings.HasSuffix(text, ")") && !open, strings.HasPrefix(text, "... ") && !open:
			continue
		}
		begins := false
		// A trace of another service, as it is or inside a message: its own first
		// line is the next cause.
		if i := strings.Index(text, serverSide); i >= 0 {
			if text = strings.TrimSpace(text[i+len(serverSide):]); text == "" {
				open = false
				continue
			}
			begins = true
		}
		if rest, ok := strings.CutPrefix(text, "Caused by: "); ok {
			text, begins = rest, true
		}
		if open && !begins && len(out) > 0 {
			out[len(out)-1] += "\n" + text
			continue
		}
		// The text of a wrapper is often its cause's, repeated.
		if n := len(out); n > 0 && strings.HasSuffix(out[n-1], text) {
			out[n-1] = text
		} else {
			out = append(out, text)
		}
		open = true
	}
	if len(out) == 0 {
		return []string{strings.TrimSpace(trace)}
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
