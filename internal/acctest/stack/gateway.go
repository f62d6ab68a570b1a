package stack

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Users are the names and passwords of Options.Users: what may log in at
// SASLBootstrap.
func (s *Stack) Users() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.st.Options.Users)
}

// StartOtherGateway starts a SQL gateway beside the stack's own, with settings
// in its config.yaml above the stack's, and without the jars whose file names
// begin with one of the texts. It ends with the stack, or with StopOtherGateway
// of the same name; a name holds one gateway at a time.
func (s *Stack) StartOtherGateway(ctx context.Context, name string, settings map[string]string, without ...string) (url string, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	ports, err := freePorts(1)
	if err != nil {
		return "", err
	}
	config := s.flinkConfig()
	maps.Copy(config, settings)
	config["sql-gateway.endpoint.rest.port"] = strconv.Itoa(ports[0])
	name = sqlGateway + "-" + name
	conf, err := s.configure(name, map[string]string{"config.yaml": yaml(config), "log4j.properties": log4j})
	if err != nil {
		return "", err
	}
	all, err := jarsOf(filepath.Join(s.st.Libs, "flink"))
	if err != nil {
		return "", err
	}
	jars := slices.DeleteFunc(filepath.SplitList(all), func(jar string) bool {
		return slices.ContainsFunc(without, func(begin string) bool { return strings.HasPrefix(filepath.Base(jar), begin) })
	})
	command := append(s.javaFlags(conf, "512m"), flinkModules...)
	command = append(command, "-cp", strings.Join(jars, string(os.PathListSeparator)), gatewayMain)
	p, err := s.launch(name, []string{"FLINK_CONF_DIR=" + conf}, command)
	if err != nil {
		return "", err
	}
	url = "http://" + address(ports[0])
	return url, s.ready(ctx, p, "answers", func(ctx context.Context) error { return getJSON(ctx, url+"/v1/info", nil) })
}

// StopOtherGateway ends what StartOtherGateway started, at once.
func (s *Stack) StopOtherGateway(ctx context.Context, name string) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.kill(ctx, sqlGateway+"-"+name)
}
