package sweep

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/bregman-ml/bregman/runlog"
)

// certificate makes a certificate for 127.0.0.1 that is its own authority.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bregman"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// secured starts a server in this process.
func secured(t *testing.T, opts *server.Options) string {
	t.Helper()
	opts.Host, opts.Port, opts.NoLog, opts.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	return begun(t, opts).Addr().String()
}

func begun(t *testing.T, opts *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("no server")
	}
	return s
}

// operated starts a server in operator mode, as nsc sets one up: an operator, a system account, and an account with
// JetStream whose user's credentials file it returns.
func operated(t *testing.T, dir string) (addr, creds string) {
	t.Helper()
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := make()
		if err != nil {
			t.Fatal(err)
		}
		public, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, public
	}
	operator, operatorKey := pair(nkeys.CreateOperator)
	_, systemKey := pair(nkeys.CreateAccount)
	account, accountKey := pair(nkeys.CreateAccount)
	user, userKey := pair(nkeys.CreateUser)
	resolver := &server.MemAccResolver{}
	for _, key := range []string{systemKey, accountKey} {
		claims := jwt.NewAccountClaims(key)
		if key == accountKey {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		}
		token, err := claims.Encode(operator)
		if err == nil {
			err = resolver.Store(key, token)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	token, err := jwt.NewUserClaims(userKey).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	creds = filepath.Join(dir, ".nats", "bregman.creds")
	if err := os.MkdirAll(filepath.Dir(creds), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(creds, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return secured(t, &server.Options{TrustedKeys: []string{operatorKey}, AccountResolver: resolver,
		SystemAccount: systemKey, JetStream: true, StoreDir: filepath.Join(dir, "js")}), creds
}

// mutual starts a server that asks its clients for a certificate.
func mutual(t *testing.T, dir string) (addr, cert, key string) {
	t.Helper()
	cert, key = certificate(t, dir)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pemData, _ := os.ReadFile(cert)
	pool.AppendCertsFromPEM(pemData)
	return secured(t, &server.Options{TLS: true, TLSVerify: true, JetStream: true, StoreDir: filepath.Join(dir, "js"),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
			ClientAuth: tls.RequireAndVerifyClientCert}}), cert, key
}

// Not only the connection: queue, states and results of a whole sweep, with its worker, with each kind of
// authentication.
func TestASweepRunsBehindCredentialsAndMutualTLS(t *testing.T) {
	t.Parallel()
	want := unbroken(t, quick)
	dir := t.TempDir()
	jwtAddr, creds := operated(t, dir)
	tlsAddr, cert, key := mutual(t, t.TempDir())
	for name, c := range map[string]struct{ flags, without []string }{
		"credentials": {[]string{"--nats", jwtAddr, "--creds", creds}, []string{"--nats", jwtAddr}},
		"TLS": {[]string{"--nats", "tls://" + tlsAddr, "--tlsca", cert, "--tlscert", cert, "--tlskey", key},
			[]string{"--nats", "tls://" + tlsAddr, "--tlsca", cert}},
	} {
		dir := t.TempDir()
		file := write(t, dir, quick)
		for _, args := range [][]string{{"sweep", file}, {"worker"}} {
			p := start(t, dir, append(args, c.without...)...)
			if code := p.wait(); code != 1 || !strings.Contains(p.err.String(), "bregman: --nats") {
				t.Errorf("%s, %v without: exit %d, %s", name, args, code, p.err.String())
			}
		}
		s := start(t, dir, append([]string{"sweep", file}, c.flags...)...)
		start(t, dir, append([]string{"worker", "--jobs", "2"}, c.flags...)...)
		s.done()
		same(t, outcome(t, dir), want)
	}
}

// freePorts are ports without a listener.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // when all are taken, so that they differ
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

// Three servers with three copies of everything. The one that leads the queue is stopped for good in the middle.
func TestAClusterLosesItsLeader(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	var servers []*server.Server
	var routes, urls []string
	ports := freePorts(t, 3)
	for _, port := range ports {
		routes = append(routes, fmt.Sprint("nats://127.0.0.1:", port))
	}
	for i, port := range ports {
		s := begun(t, &server.Options{ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			NoLog: true, NoSigs: true, JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint("js", i)),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port},
			Routes:  server.RoutesFromStr(strings.Join(routes, ","))})
		servers, urls = append(servers, s), append(urls, s.Addr().String())
	}
	eventually(t, "the cluster has a leader", func() bool {
		return slices.ContainsFunc(servers, func(s *server.Server) bool { return s.JetStreamIsLeader() })
	})
	flags := []string{"--nats", strings.Join(urls, ",")}
	s := start(t, dir, append([]string{"sweep", write(t, dir, slow), "--replicas", "3", "--lost-after", "2s"},
		flags...)...)
	for range 2 {
		start(t, dir, append([]string{"worker"}, flags...)...)
	}
	eventually(t, "some runs", func() bool { return inPlace(dir) >= 3 })
	leader := ""
	for _, x := range servers {
		if x.JetStreamIsStreamLeader("$G", streamName) {
			leader = x.Name()
			x.Shutdown()
			x.WaitForShutdown()
			break
		}
	}
	if n := inPlace(dir); leader == "" || n == 12 {
		t.Errorf("leader %q stopped at %d runs: nothing was shown", leader, n)
	}
	s.done()
	same(t, outcome(t, dir), unbroken(t, slow))
	if lines(t, dir) != 12 {
		t.Error("the metrics do not have every run once")
	}
}

func TestServersThatAskForCredentialsAreReachedWithThem(t *testing.T) {
	dir := t.TempDir()
	locked, cert, key := mutual(t, dir)
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	seedFile := filepath.Join(dir, "user.nk")
	if err := os.WriteFile(seedFile, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	password := secured(t, &server.Options{Username: "u", Password: "secret"})
	token := secured(t, &server.Options{Authorization: "token"})
	nkey := secured(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}})
	for name, c := range map[string]struct {
		right, wrong Connection
	}{
		"TLS": {Connection{NATS: "tls://" + locked, TLSCA: cert, TLSCert: cert, TLSKey: key},
			Connection{NATS: "tls://" + locked}},
		"password": {Connection{NATS: password, User: "u", Password: "secret"}, Connection{NATS: password, User: "u",
			Password: "wrong"}},
		"token": {Connection{NATS: token, User: "token"}, Connection{NATS: token}},
		"nkey":  {Connection{NATS: nkey, NKey: seedFile}, Connection{NATS: nkey}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		q, err := connect(ctx, nil, &c.right, ResultsVersion, t.Logf)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			q.close()
		}
		if q, err := connect(ctx, nil, &c.wrong, ResultsVersion, t.Logf); err == nil {
			q.close()
			t.Errorf("%s: let in without", name)
		} else if strings.Contains(err.Error(), "context") {
			t.Errorf("%s: it was tried again and again: %v", name, err)
		}
		cancel()
	}
	if _, err := connect(t.Context(), nil, &Connection{NATS: password, TLSCert: cert}, ResultsVersion,
		t.Logf); err == nil || !strings.Contains(err.Error(), "--tlskey") {
		t.Errorf("%v", err)
	}
}

// Names in a message become folders on the worker's disk.
func TestMessagesThatNameOtherFoldersAreRefused(t *testing.T) {
	s := planOf(t, quick).Runs[0]
	good := task{Plan: "0123456789abcdef", Run: s}
	if _, err := readTask(canonicalJSON(good)); err != nil {
		t.Error(err)
	}
	evil := *s
	evil.Settings = map[string]string{"p": "/../../../x", "data": "r100"}
	evil.ID = evil.identity()
	if name := evil.Folder(); strings.Contains(name, "/") {
		t.Errorf("folder %q", name)
	}
	forged := *s
	forged.ID = "../../x"
	for _, bad := range []task{{Plan: "../../../../etc", Run: s}, {Plan: "", Run: s}, {Plan: good.Plan, Run: &forged},
		{Plan: good.Plan}} {
		if _, err := readTask(canonicalJSON(bad)); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for _, text := range []string{"", "{}", "[]", `{"plan": 3}`, "\x00"} {
		if _, err := readTask([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// Of a worker's own checkpoint and that on the server the newer one counts, in any order.
func TestTheNewerCheckpointCounts(t *testing.T) {
	q := ownQueue(t)
	run := task{Plan: "0123456789abcdef", Run: planOf(t, network).Runs[0]}
	at := func(r remote, epoch string) string {
		dir := filepath.Join(r.work(run), "run", "checkpoints")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := runlog.WriteFile(filepath.Join(dir, "epoch-"+epoch+".safetensors"), []byte(epoch)); err != nil {
			t.Fatal(err)
		}
		return r.work(run)
	}
	newest := func(r remote) string { return filepath.Base(newestCheckpoint(r.work(run))) }
	a, b, c := remote{q, t.TempDir()}, remote{q, t.TempDir()}, remote{q, t.TempDir()}
	step := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	step("nothing to fetch", c.fetch(t.Context(), run, c.work(run)))
	step("nothing to send", c.checkpoint(t.Context(), run, c.work(run)))
	step("a sends", a.checkpoint(t.Context(), run, at(a, "00009")))
	step("b takes over", b.fetch(t.Context(), run, b.work(run)))
	if newest(b) != "epoch-00009.safetensors" {
		t.Errorf("b has %s", newest(b))
	}
	step("b sends", b.checkpoint(t.Context(), run, at(b, "00050")))
	step("a, which was cut off, sends", a.checkpoint(t.Context(), run, at(a, "00010")))
	step("c takes over", c.fetch(t.Context(), run, c.work(run)))
	step("a is given the run again", a.fetch(t.Context(), run, a.work(run)))
	if newest(c) != "epoch-00050.safetensors" || newest(a) != "epoch-00050.safetensors" {
		t.Errorf("c has %s, a has %s", newest(c), newest(a))
	}
	own := sharedStore{local{Folder{t.TempDir()}, nil}, q}
	step("the process of the sweep takes over", own.fetch(t.Context(), run, own.work(run)))
	if got := filepath.Base(newestCheckpoint(own.work(run))); got != "epoch-00050.safetensors" {
		t.Errorf("the process of the sweep has %s", got)
	}
	step("b is given it again, and is further", b.fetch(t.Context(), run, at(b, "00051")))
	if newest(b) != "epoch-00051.safetensors" {
		t.Errorf("b has %s", newest(b))
	}
}

func TestGoingOnRepeatsTheServerAndNoPassword(t *testing.T) {
	for url, want := range map[string]string{"": "a", "nats://q:4222": "a --nats nats://q:4222",
		"nats://me:secret@q:4222": "a --nats URL"} {
		if got := (Options{Connection: Connection{NATS: url}}).resumeArgs("a"); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if got := (Options{Listen: "0.0.0.0:4333"}).resumeArgs("a b"); got != "'a b' --listen 0.0.0.0:4333" {
		t.Errorf("%q", got)
	}
}
