package main

import (
	"debug/buildinfo"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An archive of a release has a licence for every module that is linked in, and for what else is inside.
func TestReleasesHaveTheLicencesOfEverythingInside(t *testing.T) {
	if testing.Short() {
		t.Skip("lists the packages of the program")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 20 {
		t.Fatalf("the program is of %d modules", len(info.Deps))
	}
	for _, system := range []string{"", "windows"} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), bash, filepath.Join("..", "..", "scripts", "licenses.sh"), dir)
		if cmd.Env = cmd.Environ(); system != "" {
			cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := []string{"go@*/LICENSE", "files/images-LICENSE-fashion-mnist",
			"files/dataset-tables.md"}
		if system == "" {
			for _, d := range info.Deps {
				want = append(want, d.Path+"@"+d.Version+"/*")
			}
		}
		for _, pattern := range want {
			found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			if err != nil || len(found) == 0 {
				t.Errorf("no licence %s for %s, %v", pattern, system, err)
				continue
			}
			if text := read(t, found[0]); len(text) < 200 && !strings.Contains(text, "://") {
				t.Errorf("%s is not a licence: %q", pattern, text)
			}
		}
	}
}

// The targets that the documentation names are those that the script builds.
func TestTheTargetsOfAReleaseAreOnThePageAboutInstalling(t *testing.T) {
	script := read(t, filepath.Join("..", "..", "scripts", "release.sh"))
	all := regexp.MustCompile(`(?m)^all="(.*)"$`).FindStringSubmatch(script)
	if all == nil || len(strings.Fields(all[1])) != 7 {
		t.Fatalf("the targets are %q", all)
	}
	named := page(t, "install.md").named()
	for _, target := range strings.Fields(all[1]) {
		if !named[target] {
			t.Errorf("docs/install.md does not name %s", target)
		}
	}
}
