package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"runner/internal/dbtest"
)

// The examples of docs/deploy do what they say, on a ledger that is shared.
func TestTheDeploymentExamplesRun(t *testing.T) {
	for name, c := range map[string]struct {
		commands func(t *testing.T, text string) [][]string
		env      string // that the scheduler sets, with a number
		starts   int
	}{
		"crontab":          {crontabCommands, "", 2},
		"runner.service":   {serviceCommands, "", 1},
		"cronjob.yaml":     {podCommands, "", 1},
		"indexed-job.yaml": {podCommands, "JOB_COMPLETION_INDEX=", 8},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("docs/deploy", name))
			if err != nil {
				t.Fatal(err)
			}
			commands := c.commands(t, string(text))
			for len(commands) < c.starts {
				commands = append(commands, commands[0])
			}
			dir := deployment(t)
			for i, args := range commands {
				cmd := exec.Command(filepath.Join(dir, "runner"), inside(dir, args)...)
				cmd.Env = append(os.Environ(), "RUNNER_DB_PASSWORD=x")
				if c.env != "" {
					cmd.Env = append(cmd.Env, c.env+strconv.Itoa(i))
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
			}
			done, err := os.ReadFile(filepath.Join(dir, "done"))
			if n := strings.Count(string(done), "\n"); err != nil || n != 40 {
				t.Errorf("%d of 40 records were done, %v", n, err)
			}
		})
	}
}

// deployment is a folder with what the examples expect of a host.
func deployment(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "runner"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var ids strings.Builder
	for i := range 40 {
		ids.WriteString("u" + strconv.Itoa(i) + "\n")
	}
	for name, text := range map[string]string{
		"ids": ids.String(),
		"runner.yaml": "ledger: " + strconv.Quote(dbtest.Postgres(t)) + "\n" +
			"tasks: {grant-coupon: {records: {lines: ids}, shell: 'echo $1 >>done'}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inside makes the paths of an example those of a deployment.
func inside(dir string, args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = strings.NewReplacer("/srv/coupons", dir, "/runs", filepath.Join(dir, "runs")).Replace(a)
	}
	return out
}

const installed = "/usr/local/bin/runner "

func crontabCommands(t *testing.T, text string) (all [][]string) {
	for line := range strings.Lines(text) {
		if _, command, ok := strings.Cut(line, installed); ok {
			if fields := strings.Fields(line); len(fields) < 7 || fields[5] != "jobs" {
				t.Errorf("no line of a crontab: %q", line)
			}
			all = append(all, strings.Fields(command))
		}
	}
	return all
}

func serviceCommands(_ *testing.T, text string) (all [][]string) {
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "ExecStart="+installed); ok {
			all = append(all, strings.Fields(command))
		}
	}
	return all
}

// podCommands gives the arguments of the containers of a Job or CronJob.
func podCommands(t *testing.T, text string) (all [][]string) {
	type job struct {
		Completions int
		Parallelism int
		Template    struct {
			Spec struct {
				RestartPolicy string `yaml:"restartPolicy"`
				Grace         int    `yaml:"terminationGracePeriodSeconds"`
				Containers    []struct {
					Name string
					Args []string
				}
			}
		}
	}
	var doc struct {
		Kind string
		Spec struct {
			job         `yaml:",inline"`
			Schedule    string
			JobTemplate struct{ Spec job } `yaml:"jobTemplate"`
		}
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	j := doc.Spec.job
	if doc.Kind == "CronJob" {
		j = doc.Spec.JobTemplate.Spec
	}
	if s := j.Template.Spec; s.RestartPolicy != "Never" || s.Grace < 20 || len(s.Containers) != 1 {
		t.Errorf("the pod isn't as it should be: %+v", s)
	}
	return [][]string{j.Template.Spec.Containers[0].Args}
}
