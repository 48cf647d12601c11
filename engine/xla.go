//go:build cgo && linux

package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	_ "github.com/gomlx/go-xla/compute/xla" // "xla"
)

// restarted marks a process that has been started again with library paths. Its value is the path before, after
// libraryPath and an equals sign.
const (
	restarted   = "BREGMAN_RESTARTED"
	libraryPath = "LD_LIBRARY_PATH"
)

// lookXLA looks for PJRT plugins: in the folders GoMLX uses, and in the site-packages of Python environments, where JAX
// puts them.
func lookXLA() (cuda, cpu []Finding) {
	for _, dir := range pluginDirs() {
		paths, _ := filepath.Glob(filepath.Join(dir, "*pjrt*.so"))
		for _, p := range paths {
			if strings.Contains(filepath.Base(p), "cuda") {
				cuda = append(cuda, Finding{Name: CUDA, Where: p, Usable: true, Why: "PJRT plugin for CUDA"})
			} else if strings.Contains(filepath.Base(p), "cpu") {
				cpu = append(cpu, Finding{Name: XLACPU, Where: p, Usable: true, Why: "PJRT plugin for CPUs"})
			}
		}
	}
	for _, site := range sitePackages() {
		paths, _ := filepath.Glob(filepath.Join(site, "jax_plugins", "xla_cuda*", "xla_cuda_plugin.so"))
		sort.Sort(sort.Reverse(sort.StringSlice(paths)))
		for _, p := range paths {
			cuda = append(cuda, Finding{Name: CUDA, Where: p, Usable: true, Why: "JAX's PJRT plugin for CUDA"})
		}
	}
	if gpu := nvidia(); len(cuda) == 0 || gpu != "" {
		why := "no PJRT plugin for CUDA in " + strings.Join(pluginDirs(), ", ") + " or in a Python environment's jax_plugins"
		if gpu != "" {
			why = gpu
		}
		for i := range cuda {
			cuda[i].Usable, cuda[i].Why = false, why
		}
		if len(cuda) == 0 {
			cuda = []Finding{{Name: CUDA, Why: why}}
		}
	}
	if len(cpu) == 0 {
		cpu = []Finding{{Name: XLACPU, Why: "no PJRT plugin for CPUs in " + strings.Join(pluginDirs(), ", ")}}
	}
	return cuda, cpu
}

// nvidia says why no GPU can be used, or nothing.
func nvidia() string {
	if nodes, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(nodes) == 0 {
		return "no NVIDIA GPU: there is no /dev/nvidia0"
	}
	return ""
}

// pluginDirs are the folders GoMLX keeps plugins in.
func pluginDirs() []string {
	dirs := filepath.SplitList(os.Getenv("PJRT_PLUGIN_LIBRARY_PATH"))
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "lib", "go-xla"), filepath.Join(home, ".local", "lib", "gomlx",
			"pjrt"))
	}
	return append(dirs, "/usr/local/lib/go-xla", "/usr/local/lib/gomlx/pjrt")
}

// sitePackages are the package folders of the Python environments that are likely: the active one, those on PATH, the
// system's.
func sitePackages() []string {
	var roots []string
	if v := os.Getenv("VIRTUAL_ENV"); v != "" {
		roots = append(roots, v)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "python3")); err == nil {
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, "python3")); err == nil {
				roots = append(roots, filepath.Dir(filepath.Dir(real)))
			}
			roots = append(roots, filepath.Dir(dir))
		}
	}
	roots = append(roots, "/usr", "/usr/local", "/opt/venv", "/opt/conda")
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, ".local"))
	}
	var out []string
	seen := map[string]bool{}
	for _, r := range roots {
		for _, pattern := range []string{"lib/python3*/site-packages", "lib/python3*/dist-packages",
			"lib/python3/dist-packages"} {
			dirs, _ := filepath.Glob(filepath.Join(r, pattern))
			for _, d := range dirs {
				if !seen[d] {
					seen[d] = true
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// prepare makes the NVIDIA libraries beside a Python plugin loadable. The loader reads LD_LIBRARY_PATH when a process
// starts, so the process starts itself again, once.
func prepare(plugin string) error {
	if _, err := os.Stat(plugin); err != nil {
		return fmt.Errorf("plugin: %w", err)
	}
	os.Setenv("GOMLX_NO_AUTO_INSTALL", "1")
	os.Setenv("GOPJRT_CUDA_CHECKS", "0")
	rememberTuning(plugin)
	site := filepath.Dir(filepath.Dir(filepath.Dir(plugin)))
	libs, _ := filepath.Glob(filepath.Join(site, "nvidia", "*", "lib"))
	if len(libs) == 0 || os.Getenv(restarted) != "" {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	before := os.Getenv(libraryPath)
	path := strings.Join(append(libs, filepath.SplitList(before)...), ":")
	env := append(os.Environ(), libraryPath+"="+path, "PATH="+os.Getenv("PATH")+":/usr/local/cuda/bin",
		restarted+"="+libraryPath+"="+before)
	return syscall.Exec(exe, os.Args, env)
}

// Environ is the environment for other programs: without the libraries that a CUDA plugin needs, which may be other
// versions than theirs.
func Environ() []string {
	env := os.Environ()
	before, ok := strings.CutPrefix(os.Getenv(restarted), libraryPath+"=")
	if !ok {
		return env
	}
	env = slices.DeleteFunc(env, func(v string) bool {
		return strings.HasPrefix(v, libraryPath+"=") || strings.HasPrefix(v, restarted+"=")
	})
	if before == "" {
		return env
	}
	return append(env, libraryPath+"="+before)
}

// rememberTuning lets XLA keep which kernels it found fastest in the user's cache: ResNet-18 then compiles in 4 s
// instead of 20 the next time, and computes the same bits, with the same kernels. XLA ends a process whose XLA_FLAGS it
// does not know, so the plugin's file is asked first.
//
// XLA's flags for kernels that are sure to be deterministic are not set: with them it takes the first kernel that it
// finds and not the fastest, and ResNet-18 trains 10 % slower on an H200 (bregman train --check-steps tells whether it
// needs them).
func rememberTuning(plugin string) {
	const flag = "xla_gpu_per_fusion_autotune_cache_dir"
	flags := os.Getenv("XLA_FLAGS")
	if strings.Contains(flags, flag) || !fileHolds(plugin, flag) {
		return
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	dir := filepath.Join(cache, "bregman", "xla")
	if strings.Contains(flags, "deterministic_ops=true") {
		dir += "-deterministic" // other kernels
	}
	if err := os.MkdirAll(dir, 0o755); err != nil || strings.ContainsAny(dir, " \t\"'") {
		return
	}
	os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" --"+flag+"="+dir))
}

// fileHolds says whether a file has these bytes somewhere.
func fileHolds(path, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const block = 1 << 20
	buf := make([]byte, len(text)+block)
	kept := 0 // bytes of the last block at the front, where the text may begin
	for {
		n, err := f.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return true
		}
		if err != nil {
			return false
		}
		end := kept + n
		kept = min(len(text)-1, end)
		copy(buf, buf[end-kept:end])
	}
}
