package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Connection says which NATS server to use, and with which credentials, in the words of the nats command.
type Connection struct {
	NATS     string `name:"nats" env:"NATS_URL" placeholder:"URL" role:"place"`
	Creds    string `env:"NATS_CREDS" placeholder:"FILE" role:"place"`
	NKey     string `name:"nkey" env:"NATS_NKEY" placeholder:"FILE" role:"place"`
	User     string `env:"NATS_USER" role:"place"`
	Password string `env:"NATS_PASSWORD" role:"place"`
	TLSCert  string `name:"tlscert" env:"NATS_CERT" placeholder:"FILE" role:"place"`
	TLSKey   string `name:"tlskey" env:"NATS_KEY" placeholder:"FILE" role:"place"`
	TLSCA    string `name:"tlsca" env:"NATS_CA" placeholder:"FILE" role:"place"`
	Replicas int    `default:"1" role:"place"`
}

// Texts are the words for its settings.
func (*Connection) Texts() settings.Texts {
	return settings.Texts{
		Help: map[string]string{
			"nats":     "NATS servers, such as nats://host:4222, several with commas; JetStream must be on.",
			"creds":    "Credentials file of a user.",
			"nkey":     "Seed file of an nkey.",
			"user":     "User name, or a token if there is no password.",
			"password": "Password.",
			"tlscert":  "Certificate of this client.",
			"tlskey":   "Its key.",
			"tlsca":    "Certificates to trust the server by.",
			"replicas": "Copies of queue and results in a cluster: 1, 3 or 5.",
		},
	}
}

// options are those of the connection. It always reconnects: a server that is gone comes back.
func (c *Connection) options(say func(string, ...any), back chan<- struct{}) ([]nats.Option, error) {
	for _, server := range strings.Split(c.NATS, ",") {
		if scheme, _, ok := strings.Cut(server, "://"); ok && !slices.Contains([]string{"nats", "tls", "ws", "wss"},
			strings.TrimSpace(scheme)) {
			return nil, fmt.Errorf("--nats %s: want servers such as nats://host:4222 or tls://host:4222", server)
		}
	}
	opts := []nats.Option{nats.Name("bregman"), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				say("the connection to the NATS server was lost (%v): waiting for it", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			say("connected to %s again", nc.ConnectedUrlRedacted())
			select {
			case back <- struct{}{}:
			default:
			}
		})}
	if c.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	if c.NKey != "" {
		o, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, fmt.Errorf("--nkey: %w", err)
		}
		opts = append(opts, o)
	}
	switch {
	case c.User != "" && c.Password != "":
		opts = append(opts, nats.UserInfo(c.User, c.Password))
	case c.User != "":
		opts = append(opts, nats.Token(c.User))
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, errors.New("--tlscert and --tlskey go together")
	}
	if c.TLSCert != "" {
		opts = append(opts, nats.ClientCert(c.TLSCert, c.TLSKey))
	}
	if c.TLSCA != "" {
		opts = append(opts, nats.RootCAs(c.TLSCA))
	}
	return opts, nil
}

// Names on the server. Results versions do not mix: each has a part of the queue of its own, under the hash of its
// name.
const (
	streamName   = "BREGMAN"
	stateBucket  = "bregman-state"
	resultBucket = "bregman-results"
	keepResults  = 14 * 24 * time.Hour // on the server, after which only the sweep's folder has them
)

// answerWithin is how long a request of the server waits for its answer.
var answerWithin = 5 * time.Second

func versionToken(results int) string {
	sum := sha256.Sum256(fmt.Append(nil, "results ", results))
	return hex.EncodeToString(sum[:5])
}

// queue is the connection to JetStream: runs to do, what is known of each, and the results of other machines.
type queue struct {
	server  *server.Server // the embedded one; nil: an external one
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	state   jetstream.KeyValue
	results jetstream.ObjectStore
	pieces  jetstream.Stream // what the results are kept in
	runs    jetstream.Consumer
	version int           // of the results
	back    chan struct{} // signals a reconnection
	wait    time.Duration // a worker that is silent for so long has died
}

// task is a message of the queue.
type task struct {
	Plan  string `json:"plan"`
	Sweep string `json:"sweep"` // its name, for people
	Run   *Spec  `json:"run"`
}

// readTask reads a message. Plan and run name folders: anything that a sweep would not write is refused.
func readTask(data []byte) (t task, err error) {
	if err := json.Unmarshal(data, &t); err != nil {
		return t, err
	}
	if t.Run == nil || t.Run.identity() != t.Run.ID {
		return t, errors.New("its identity is not that of its settings")
	}
	if plan, err := hex.DecodeString(t.Plan); err != nil || len(plan) != 8 {
		return t, fmt.Errorf("%q is not the name of a plan", t.Plan)
	}
	return t, nil
}

func (q *queue) subject(plan, run string) string {
	return fmt.Sprintf("bregman.run.%s.%s.%s", versionToken(q.version), plan, run)
}

// startServer starts the embedded server, with its files in dir. Without an address to listen on only this process
// reaches it.
func startServer(dir, listen string, c *Connection) (*server.Server, error) {
	opts := &server.Options{ServerName: "bregman", JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
		DontListen: listen == "", MaxPayload: 8 << 20}
	if listen != "" {
		var err error
		if opts.Host, opts.Port, err = c.listenAt(listen); err != nil {
			return nil, err
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
		if c.Password != "" {
			opts.Username, opts.Password = c.User, c.Password
		} else {
			opts.Authorization = c.User
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("the embedded NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(20*time.Second) || !s.JetStreamEnabled() {
		s.Shutdown()
		return nil, fmt.Errorf("the embedded NATS server does not start, with its files in %s: is the disk full, or "+
			"read-only?", dir)
	}
	return s, nil
}

// listenAt reads the HOST:PORT of --listen; empty, nothing listens. An address that others reach needs a user.
func (c *Connection) listenAt(listen string) (host string, port int, err error) {
	if listen == "" {
		return "", 0, nil
	}
	host, text, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("--listen %s: want HOST:PORT, such as 127.0.0.1:4222", listen)
	}
	if ip := net.ParseIP(host); c.User == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("--listen %s: others can reach this address: set --user and --password, here and at the "+
			"workers", listen)
	}
	return host, port, nil
}

// connect connects to the server, the embedded one if there is one. It waits for a server that is not up yet.
func connect(ctx context.Context, embedded *server.Server, c *Connection, version int,
	say func(string, ...any)) (*queue, error) {
	q := &queue{server: embedded, version: version, back: make(chan struct{}, 1)}
	opts, err := c.options(say, q.back)
	if err != nil {
		return nil, err
	}
	url := c.NATS
	if embedded != nil {
		url, opts = "", append(opts, nats.InProcessServer(embedded))
	}
	for warned := false; ; {
		if q.nc, err = nats.Connect(url, opts...); err == nil {
			break
		}
		if !errors.Is(err, nats.ErrNoServers) && !errors.Is(err, nats.ErrTimeout) && !isNetwork(err) || embedded != nil {
			return nil, fmt.Errorf("--nats %s: %w", url, err)
		}
		if !warned {
			say("--nats %s: %v: trying until it answers", url, err)
			warned = true
		}
		if sleep(ctx, time.Second) != nil {
			return nil, ctx.Err()
		}
	}
	if q.js, err = jetstream.New(q.nc, jetstream.WithPublishAsyncMaxPending(256),
		jetstream.WithDefaultTimeout(answerWithin)); err != nil {
		q.close()
		return nil, err
	}
	return q, nil
}

// isNetwork reports whether an error may be temporary. A refusal by TLS at the other end is not.
func isNetwork(err error) bool {
	var n net.Error
	var op *net.OpError
	return errors.As(err, &n) && !(errors.As(err, &op) && op.Op == "remote error")
}

func (q *queue) close() {
	if q.nc != nil {
		q.nc.Close()
	}
	if q.server != nil {
		q.server.Shutdown()
		q.server.WaitForShutdown()
	}
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// create creates what is needed on the server, unless it exists.
func (q *queue) create(ctx context.Context, replicas int, wait time.Duration) (err error) {
	cfg := jetstream.StreamConfig{Name: streamName, Description: "runs of bregman sweeps",
		Subjects: []string{"bregman.run.>"}, Retention: jetstream.WorkQueuePolicy, Replicas: replicas,
		// A run is in the queue once: a second coordinator, or the same one again, is refused by the server.
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true}
	if q.stream, err = q.js.CreateOrUpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("the queue on the NATS server: %w", err)
	}
	if q.state, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: stateBucket, History: 1,
		TTL: keepResults, Replicas: replicas}); err != nil {
		return fmt.Errorf("the states on the NATS server: %w", err)
	}
	if q.results, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: resultBucket,
		TTL: keepResults, Replicas: replicas}); err != nil {
		return fmt.Errorf("the results on the NATS server: %w", err)
	}
	if q.pieces, err = q.js.Stream(ctx, "OBJ_"+resultBucket); err != nil {
		return fmt.Errorf("the results on the NATS server: %w", err)
	}
	q.runs, err = q.stream.CreateOrUpdateConsumer(ctx, q.consumer(wait))
	q.wait = wait
	return err
}

func (q *queue) consumer(wait time.Duration) jetstream.ConsumerConfig {
	name := "workers-" + versionToken(q.version)
	return jetstream.ConsumerConfig{Durable: name, Name: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait,
		MaxDeliver: -1, MaxAckPending: 100_000, MaxWaiting: 10_000,
		FilterSubject: fmt.Sprintf("bregman.run.%s.>", versionToken(q.version))}
}

// forgetDeliveries recreates the consumer: runs that a killed process of the same machine had taken are available at
// once.
func (q *queue) forgetDeliveries(ctx context.Context) (err error) {
	if err := q.stream.DeleteConsumer(ctx, q.consumer(q.wait).Name); err != nil {
		return err
	}
	q.runs, err = q.stream.CreateOrUpdateConsumer(ctx, q.consumer(q.wait))
	return err
}

// find is make for a worker: it waits until a sweep has created the queue.
func (q *queue) find(ctx context.Context, say func(string, ...any)) (err error) {
	for warned := false; ctx.Err() == nil; {
		if q.stream, err = q.js.Stream(ctx, streamName); err == nil {
			if err = q.refuse(ctx); err != nil {
				return err
			}
			if q.runs, err = q.stream.Consumer(ctx, q.consumer(0).Name); err == nil {
				if q.state, err = q.js.KeyValue(ctx, stateBucket); err == nil {
					if q.results, err = q.js.ObjectStore(ctx, resultBucket); err == nil {
						q.pieces, err = q.js.Stream(ctx, "OBJ_"+resultBucket)
					}
				}
			}
		}
		if err == nil {
			q.wait = q.runs.CachedInfo().Config.AckWait
			return nil
		}
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, nats.ErrAuthorization) {
			return fmt.Errorf("the NATS server: %w", err)
		}
		if !warned {
			say("waiting for a sweep")
			warned = true
		}
		sleep(ctx, time.Second)
	}
	return ctx.Err()
}

// refuse returns an error if only runs of other versions are queued: this worker would wait for ever.
func (q *queue) refuse(ctx context.Context) error {
	info, err := q.stream.Info(ctx, jetstream.WithSubjectFilter("bregman.run.>"))
	if err != nil {
		return nil // reported elsewhere
	}
	other := ""
	for s := range info.State.Subjects {
		parts := strings.Split(s, ".")
		if len(parts) != 5 || parts[2] == versionToken(q.version) {
			return nil
		}
		other = parts[3]
	}
	if other == "" {
		return nil
	}
	theirs := "another version"
	if kv, err := q.js.KeyValue(ctx, stateBucket); err == nil {
		if e, err := kv.Get(ctx, other+".sweep"); err == nil {
			var m manifest
			if json.Unmarshal(e.Value(), &m) == nil {
				theirs = fmt.Sprintf("bregman %s (sweep %s)", m.Version, m.Name)
			}
		}
	}
	return fmt.Errorf("the queued runs are of %s, whose numbers differ from this program's (version %d): "+
		"start workers of that program", theirs, q.version)
}

// manifest is what the server knows of a sweep.
type manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Results int    `json:"results_version"`
	Runs    int    `json:"runs"`
}

// publish queues runs. One that is queued already stays as it is.
func (q *queue) publish(ctx context.Context, p *Plan, runs []*Spec) error {
	var waiting []jetstream.PubAckFuture
	settle := func(keep int) error {
		for len(waiting) > keep {
			f := waiting[0]
			waiting = waiting[1:]
			select {
			case <-f.Ok():
			case err := <-f.Err():
				if api := (*jetstream.APIError)(nil); errors.As(err, &api) && api.ErrorCode == maxPerSubject {
					continue
				}
				return fmt.Errorf("queueing runs: %w", err)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	for _, s := range runs {
		data, err := json.Marshal(task{p.ID, p.File.Name, s})
		if err != nil {
			return err
		}
		f, err := q.js.PublishAsync(q.subject(p.ID, s.ID), data)
		if err != nil {
			return fmt.Errorf("queueing runs: %w", err)
		}
		waiting = append(waiting, f)
		if err := settle(200); err != nil {
			return err
		}
	}
	return settle(0)
}

// maxPerSubject is the server's error code if the subject of a message already has one.
const maxPerSubject = 10077

// queued returns the runs of a plan that are in the queue, including the running ones.
func (q *queue) queued(ctx context.Context, p *Plan) (map[string]bool, error) {
	info, err := q.stream.Info(ctx, jetstream.WithSubjectFilter(q.subject(p.ID, "*")))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for s := range info.State.Subjects {
		out[s[strings.LastIndex(s, ".")+1:]] = true
	}
	return out, nil
}

// progress is what is known of a run on the server.
type progress struct {
	State    string    `json:"state"` // running, waiting (to be tried again), failed, done
	Worker   string    `json:"worker"`
	Since    time.Time `json:"since"`
	Attempts int       `json:"attempts,omitempty"` // that failed
	Error    string    `json:"error,omitempty"`
}

func (q *queue) progress(ctx context.Context, plan, run string) progress {
	var p progress
	if e, err := q.state.Get(ctx, plan+"."+run); err == nil {
		json.Unmarshal(e.Value(), &p)
	}
	return p
}

func (q *queue) report(ctx context.Context, plan, run string, p progress) error {
	_, err := q.state.Put(ctx, plan+"."+run, canonicalJSON(p))
	return err
}
