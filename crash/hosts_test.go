//go:build linux

package crash

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"runner/internal/dbtest"
)

// TestABatchOfManyHostsIsDoneOnceHoweverItIsKilled lets four hosts, whose clocks are
// minutes apart, work on one batch, and kills and stops their runners, their
// way to the server, the server and the hosts themselves. Nothing is done
// twice, nothing is lost, and the batch is settled in the end.
func TestABatchOfManyHostsIsDoneOnceHoweverItIsKilled(t *testing.T) {
	needHosts(t)
	for _, m := range []mode{hold, checked} {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			server := dbtest.StartPostgres(t, dbtest.Durable...)
			var all crowdTally
			began := time.Now()
			for i := uint64(0); i == 0 || all.kills < *killsFlag/25 || time.Since(began) < *forFlag; i++ {
				seed := *seedFlag + i
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("again: go test ./crash -run 'Hosts.*Killed/%s' -crash.kills 1 -crash.seed %d", m, seed)
						}
					}()
					all.add(shareBatch(t, server, m, seed))
				})
				if t.Failed() {
					break
				}
			}
			fmt.Printf("crash: hosts, %s: seed %d: %v in %v\n", m, *seedFlag, all, time.Since(began).Round(time.Second))
		})
	}
}

// crowdTally is what a test of hosts has seen.
type crowdTally struct {
	tally
	deaths, stops, servers, cuts int
}

func (t *crowdTally) add(u crowdTally) {
	t.tally.add(u.tally)
	t.deaths += u.deaths
	t.stops += u.stops
	t.servers += u.servers
	t.cuts += u.cuts
}

func (t crowdTally) String() string {
	return fmt.Sprintf("%d hosts went down, %d runners stopped, %d servers crashed, %d networks cut, %v", t.deaths, t.stops, t.servers, t.cuts, t.tally)
}

// clocks are by how much those of the hosts are off.
var clocks = []time.Duration{0, 3 * time.Minute, -5 * time.Minute, 11 * time.Minute}

// crowd is four hosts with one batch.
type crowd struct {
	*bed
	r      *rand.Rand
	server *dbtest.PostgresServer
	hosts  []*host
	dark   map[*host]bool // cut off from the server
	down   map[*host]bool
	crowdTally
}

func shareBatch(t *testing.T, server *dbtest.PostgresServer, m mode, seed uint64) crowdTally {
	r := rand.New(rand.NewPCG(seed, uint64(m)))
	c := &crowd{r: r, server: server, dark: map[*host]bool{}, down: map[*host]bool{}}
	// As a check asks for what another host did, it waits for the timeout before
	// it believes that there is nothing.
	options := []string{"timeout: 8s", "retry: {attempts: 60, backoff: 1ms, max_backoff: 4ms}"}
	if m == checked {
		options = append(options, checkLine)
	}
	c.bed = newBedOn(t, dbtest.Database(t, server.Address), 80+r.IntN(120), options...)
	for range 20 {
		c.write("slow/"+c.ids[r.IntN(len(c.ids))], "")
	}
	for i, by := range clocks {
		c.hosts = append(c.hosts, c.host(fmt.Sprintf("host%d", i), by))
	}
	// Until a lease has run out while others were at work.
	for end := time.Now().Add(lease + time.Duration(r.IntN(8))*time.Second); time.Now().Before(end); {
		c.round()
	}
	c.settle()
	c.tally.add(c.verify(m))
	return c.crowdTally
}

// crowdCodes are how a run may end that isn't killed: 7 when it lost its lease
// or can't reach the server.
var crowdCodes = []int{-1, 0, 1, 3, 5, 7}

// round lets each host run something, waits for a moment and breaks something.
func (c *crowd) round() {
	for _, h := range c.hosts {
		if h.live != nil && h.live.ended() {
			c.expect(h.live, crowdCodes...)
			h.live, h.stops = nil, false
		}
		if h.live == nil && !c.down[h] && !c.dark[h] {
			h.live = h.start(c.naps(), "run", task, "--date", date, "-j", strconv.Itoa(1+c.r.IntN(3)))
		}
	}
	time.Sleep(time.Duration(c.r.IntN(1000)) * time.Millisecond)
	h := c.hosts[c.r.IntN(len(c.hosts))]
	switch c.r.IntN(10) {
	case 0, 1:
		if h.live != nil && h.live.kill(false) {
			c.kills++
		}
	case 2, 3:
		c.stopOrGoOn(h)
	case 4, 5:
		c.cutOrMend(h)
	case 6:
		h.proxy.Cut()
		c.cuts++
	case 7, 8:
		c.dieOrBoot(h)
	case 9:
		c.server.Crash(c.t)
		c.servers++
		c.server.Restart(c.t)
	}
}

func (c *crowd) naps() []string {
	naps := []string{"", "0.01", "0.05", "0.3"}
	return []string{"BEFORE=" + naps[c.r.IntN(len(naps))], "AFTER=" + naps[c.r.IntN(len(naps))]}
}

func (c *crowd) stopOrGoOn(h *host) {
	if h.stops {
		h.signal(syscall.SIGCONT)
		return
	}
	h.signal(syscall.SIGSTOP)
	c.stops++
}

func (c *crowd) cutOrMend(h *host) {
	c.dark[h] = !c.dark[h]
	h.proxy.SetDown(c.dark[h])
	if c.dark[h] {
		c.cuts++
	}
}

func (c *crowd) dieOrBoot(h *host) {
	if c.down[h] {
		h.boot()
		c.down[h] = false
		return
	}
	h.die()
	c.deaths++
	c.down[h] = true
}

// settle mends what is broken, and lets everything end.
func (c *crowd) settle() {
	for _, h := range c.hosts {
		if c.down[h] {
			h.boot()
		}
		h.proxy.SetDown(false)
		h.signal(syscall.SIGCONT)
	}
	for _, h := range c.hosts {
		if h.live != nil {
			c.expect(h.live, crowdCodes...)
		}
	}
	c.quiet()
	// As a host that comes back: what its run files say is believed.
	for _, h := range c.hosts {
		c.expect(h.start(nil, "recover"), 0, 3, 5)
	}
	c.leasesEnd()
	c.plain(0, 3)
	for _, h := range c.hosts {
		c.expect(h.start(nil, "recover"), 0, 3)
		c.swept(h.runs())
	}
	c.quiet()
}

// leasesEnd waits until nobody counts as alive any more.
func (c *crowd) leasesEnd() {
	db := c.db()
	defer db.Close()
	const alive = "SELECT count(*) FROM run WHERE ended_at IS NULL AND to_timestamp(lease_until / 1000000.0) >= clock_timestamp()"
	for end := time.Now().Add(patience); c.number(db, alive) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatal("there is a lease that doesn't end")
		}
	}
}
