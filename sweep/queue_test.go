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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// certificate makes a certificate for 127.0.0.1 that is its own authority.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bregman"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
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
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
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
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("no server")
	}
	return s.Addr().String()
}

func TestServersThatAskForCredentialsAreReachedWithThem(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pemData, _ := os.ReadFile(cert)
	pool.AppendCertsFromPEM(pemData)
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
	mutual := secured(t, &server.Options{TLS: true, TLSVerify: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}})
	password := secured(t, &server.Options{Username: "u", Password: "secret"})
	token := secured(t, &server.Options{Authorization: "token"})
	nkey := secured(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}})
	for name, c := range map[string]struct {
		right, wrong Connection
	}{
		"TLS":      {Connection{NATS: "tls://" + mutual, TLSCA: cert, TLSCert: cert, TLSKey: key}, Connection{NATS: "tls://" + mutual}},
		"password": {Connection{NATS: password, User: "u", Password: "secret"}, Connection{NATS: password, User: "u", Password: "wrong"}},
		"token":    {Connection{NATS: token, User: "token"}, Connection{NATS: token}},
		"nkey":     {Connection{NATS: nkey, NKey: seedFile}, Connection{NATS: nkey}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		q, err := connect(ctx, nil, &c.right, "test", t.Logf)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			q.close()
		}
		if q, err := connect(ctx, nil, &c.wrong, "test", t.Logf); err == nil {
			q.close()
			t.Errorf("%s: let in without", name)
		} else if strings.Contains(err.Error(), "context") {
			t.Errorf("%s: it was tried again and again: %v", name, err)
		}
		cancel()
	}
	if _, err := connect(t.Context(), nil, &Connection{NATS: password, TLSCert: cert}, "test", t.Logf); err == nil || !strings.Contains(err.Error(), "--tlskey") {
		t.Errorf("%v", err)
	}
}
