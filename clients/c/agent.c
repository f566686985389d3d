/* An agent of `mase` in C, by docs/wire.md and clients/README.md alone: libzmq and the C library.
 *
 *     cc -O2 -o agent agent.c -lzmq -lm && ./agent tcp://127.0.0.1:7000
 *
 * The clock must be "wall", and there are no keys. A lost connection costs nothing: what was not
 * confirmed is kept, and goes again byte for byte. The functions of libzmq that are used are
 * declared here, so that its headers are not needed.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *zmq_ctx_new(void);
int zmq_ctx_term(void *);
void *zmq_socket(void *, int);
int zmq_connect(void *, const char *);
int zmq_close(void *);
int zmq_setsockopt(void *, int, const void *, size_t);
int zmq_send(void *, const void *, size_t, int);
int zmq_recv(void *, void *, size_t, int);
enum { DEALER = 5, LINGER = 17, RCVTIMEO = 27, SNDTIMEO = 28, DONTWAIT = 1 };
enum { HEADER = 32, ENVELOPE = 12, MOST = 8 << 20, ARMS = 60000, KEPT = 100000 };

static void *context, *sock;
static int32_t rank = -1;
static uint32_t run_number = 0xFFFFFFFF, sequence, sent, taken, confirmed, connection = 1;
static unsigned char incarnation[8], in[MOST];
static struct { unsigned char *data; size_t size; } kept[KEPT]; /* by number modulo KEPT */
static double began;

static void fail(const char *why) { fprintf(stderr, "%s\n", why); exit(1); }

static double wall(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* --- msgpack: what is written --- */
static unsigned char out[MOST];
static size_t end;

static void put(const void *data, size_t size) { memcpy(out + end, data, size); end += size; }
static void byte(int value) { out[end++] = (unsigned char)value; }
static void big(uint64_t value, int bytes) { while (bytes--) byte((int)(value >> 8 * bytes)); }
static void array(uint32_t items) { byte(0xdd); big(items, 4); }
static void map(uint32_t items) { byte(0xdf); big(items, 4); }
static void integer(int64_t value) { byte(0xd3); big((uint64_t)value, 8); }
static void real(double value) { uint64_t bits; memcpy(&bits, &value, 8); byte(0xcb); big(bits, 8); }
static void text(const char *value) { byte(0xd9); byte((int)strlen(value)); put(value, strlen(value)); }
static void bytes(const void *value, uint32_t size) { byte(0xc6); big(size, 4); put(value, size); }

/* --- msgpack: what is read; each function steps over what it read --- */
static uint64_t read_big(const unsigned char **at, int size) {
    uint64_t value = 0;
    while (size--) value = value << 8 | *(*at)++;
    return value;
}

static double number(const unsigned char **at) {
    int kind = *(*at)++;
    double value; float single; uint64_t bits; uint32_t half;
    if (kind < 0x80) return kind;
    if (kind >= 0xe0) return kind - 256;
    switch (kind) {
    case 0xca: half = (uint32_t)read_big(at, 4); memcpy(&single, &half, 4); return single;
    case 0xcb: bits = read_big(at, 8); memcpy(&value, &bits, 8); return value;
    case 0xcc: case 0xcd: case 0xce: case 0xcf: return (double)read_big(at, 1 << (kind - 0xcc));
    case 0xd0: return (int8_t)read_big(at, 1);
    case 0xd1: return (int16_t)read_big(at, 2);
    case 0xd2: return (int32_t)read_big(at, 4);
    case 0xd3: return (double)(int64_t)read_big(at, 8);
    }
    fail("a number was expected");
    return 0;
}

static uint32_t length(const unsigned char **at) { /* of a text, bytes, an array or a map */
    int kind = *(*at)++;
    if (kind >= 0xa0 && kind < 0xc0) return kind & 31;
    if (kind >= 0x80 && kind < 0xa0) return kind & 15;
    if (kind == 0xc4 || kind == 0xd9) return (uint32_t)read_big(at, 1);
    if (kind == 0xc5 || kind == 0xda || kind == 0xdc || kind == 0xde) return (uint32_t)read_big(at, 2);
    if (kind == 0xc6 || kind == 0xdb || kind == 0xdd || kind == 0xdf) return (uint32_t)read_big(at, 4);
    fail("a text or a list was expected");
    return 0;
}

static void skip(const unsigned char **at) {
    int kind = **at;
    int is_map = (kind >= 0x80 && kind < 0x90) || kind == 0xde || kind == 0xdf;
    int is_list = (kind >= 0x90 && kind < 0xa0) || kind == 0xdc || kind == 0xdd;
    if (kind == 0xc0 || kind == 0xc2 || kind == 0xc3) { ++*at; return; }
    if (is_map || is_list) {
        for (uint32_t left = length(at) << is_map; left--;) skip(at);
    } else if ((kind >= 0xa0 && kind < 0xc0) || (kind >= 0xc4 && kind <= 0xc6) || (kind >= 0xd9 && kind <= 0xdb)) {
        uint32_t size = length(at);
        *at += size;
    } else number(at);
}

static int is(const unsigned char **at, const char *word) { /* whether this text is the word */
    uint32_t size = length(at);
    int same = size == strlen(word) && !memcmp(*at, word, size);
    *at += size;
    return same;
}

static const unsigned char *member(const unsigned char *at, const char *key) { /* NULL: none */
    for (uint32_t left = length(&at); left--; skip(&at))
        if (is(&at, key)) return at;
    return NULL;
}

/* --- frames and the session --- */
static void envelope(char mark, uint32_t count, const unsigned char *frame, size_t size) {
    static unsigned char data[MOST];
    memcpy(data, "pn\1", 3);
    data[3] = (unsigned char)mark;
    memcpy(data + 4, &count, 4); /* this machine is little-endian, as the wire is */
    memcpy(data + 8, &taken, 4);
    memcpy(data + ENVELOPE, frame, size);
    zmq_send(sock, data, ENVELOPE + size, DONTWAIT); /* what is lost is asked for again */
}

static void begin(const char *kind, uint32_t fields) {
    end = HEADER;
    array(fields + 1);
    text(kind);
}

static void say(int plane, int numbered) {
    double now = began ? wall() - began : 0;
    int64_t stamp = 0;
    memcpy(out, "po\1", 3);
    out[3] = (unsigned char)plane;
    memcpy(out + 4, &run_number, 4);
    memcpy(out + 8, &rank, 4);
    memcpy(out + 12, &sequence, 4);
    memcpy(out + 16, &now, 8);
    memcpy(out + 24, &stamp, 8);
    if (!numbered) { zmq_send(sock, out, end, DONTWAIT); return; }
    ++sequence;
    ++sent;
    if (sent - confirmed >= KEPT) fail("the coordinator confirms nothing");
    free(kept[sent % KEPT].data);
    if (!(kept[sent % KEPT].data = malloc(end))) fail("no memory is left");
    memcpy(kept[sent % KEPT].data, out, end);
    kept[sent % KEPT].size = end;
    envelope('F', sent, out, end);
}

static void again(void) {
    for (uint32_t n = confirmed + 1; n - 1 != sent; n++)
        envelope('F', n, kept[n % KEPT].data, kept[n % KEPT].size);
}

static void join(void) {
    sequence = sent = taken = confirmed = 0;
    began = 0;
    run_number = 0xFFFFFFFF;
    begin("Join", 8);
    integer(-1); text(""); text(""); integer(0); bytes(incarnation, 8); real(wall()); map(0); text("");
    say(1, 0);
}

static void resume(void) {
    ++connection;
    begin("Resume", 8);
    integer(rank); text(""); bytes(incarnation, 8); integer(connection); integer(taken); integer(0); integer(0); text("");
    say(1, 0);
}

/* The next frame's payload, with its length in `size`; NULL after `wait` ms without one. */
static const unsigned char *hear(int wait) {
    zmq_setsockopt(sock, RCVTIMEO, &wait, sizeof wait);
    for (;;) {
        int size = zmq_recv(sock, in, sizeof in, 0);
        uint32_t count, theirs;
        if (size < 0) return NULL;
        if (size < ENVELOPE || memcmp(in, "pn\1", 3)) return size > HEADER ? in + HEADER : NULL;
        memcpy(&count, in + 4, 4);
        memcpy(&theirs, in + 8, 4);
        if (theirs - confirmed <= sent - confirmed) confirmed = theirs; /* also past 2^32 */
        if (in[3] == 'P') envelope(count == taken ? 'C' : 'A', 0, NULL, 0);
        if (in[3] == 'A') {
            if (confirmed - theirs - 1 < 1 << 24) envelope('G', confirmed, NULL, 0);
            else again();
        }
        if (in[3] != 'F' || size <= ENVELOPE + HEADER) continue;
        if (count != taken + 1) {
            if (count - taken < 0x80000000) envelope('A', 0, NULL, 0);
            continue;
        }
        ++taken;
        memcpy(&run_number, in + ENVELOPE + 4, 4);
        return in + ENVELOPE + HEADER;
    }
}

/* --- mase --- */
static double means[ARMS], sums[ARMS], regret, beta = 0.5;
static int64_t pulls[ARMS], activations, slots;
static char left[ARMS];
static uint32_t arms;
static int playing, known;

static void configure(const unsigned char *at) {
    const unsigned char *setup, *found, *list;
    rank = (int32_t)number(&at);
    length(&at);
    setup = at;
    found = member(setup, "clock");
    if (!found || !is(&found, "wall")) fail("this agent knows the clock \"wall\" only");
    found = member(setup, "system");
    if (!found || !is(&found, "mase")) fail("this agent knows the system mase only");
    if ((found = member(setup, "parameters")) && (found = member(found, "beta"))) beta = number(&found);
    found = member(setup, "arms");
    if (!found || !(list = member(found, "means"))) fail("these arms have no means");
    arms = length(&list);
    if (arms > ARMS) fail("there are too many arms");
    for (uint32_t k = 0; k < arms; k++) means[k] = number(&list);
    found = member(setup, "first");
    begin("Ready", 1);
    integer(found ? (int64_t)number(&found) : 0);
    say(1, 1);
}

static uint32_t remaining(void) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < arms; k++) count += left[k];
    return count;
}

static void finish(void) {
    begin("Finished", 2);
    uint32_t arm = 0;
    while (arm < arms && !left[arm]) arm++;
    if (arm < arms) integer(arm); else byte(0xc0);
    text("");
    say(1, 1);
    playing = 0;
}

static void play(void) { /* one activation */
    double best = -1, top = 0, radius;
    uint32_t behind = 0;
    ++activations;
    for (uint32_t k = 0; k < arms; k++) top = fmax(top, means[k]);
    for (uint32_t k = 0; k < arms; k++) {
        if (!left[k]) continue;
        sums[k] += drand48() < means[k];
        ++pulls[k];
        ++slots;
        regret += top - means[k];
        best = fmax(best, sums[k] / activations);
    }
    radius = 2 * sqrt(log(arms * (double)activations * activations / beta) / activations);
    for (uint32_t k = 0; k < arms; k++) behind += left[k] && best - sums[k] / activations >= radius;
    if (behind) {
        begin("Vote", 1);
        array(behind);
        for (uint32_t k = 0; k < arms; k++)
            if (left[k] && best - sums[k] / activations >= radius) { integer(k); left[k] = 0; }
        say(0, 1);
        if (remaining() < 2) finish();
    }
}

static void report(void) {
    double curve[6] = {0, 0, 0, wall() - began, (double)activations, regret};
    begin("Report", 12);
    bytes(pulls, 8 * arms); integer(activations); integer(slots);
    map(1); text("regret"); real(regret);
    map(1); text("regret"); bytes(curve, sizeof curve);
    array(0); map(0); map(0); array(0); map(0); map(0);
    array(3); real(0); integer(0); integer(0);
    say(1, 1);
}

/* Take a message; 1 after the last. */
static int take(const unsigned char *at) {
    const unsigned char *kind;
    length(&at);
    kind = at;
    skip(&at);
#define IS(word) (at = kind, is(&at, word))
    if (IS("Refused")) {
        uint32_t size = length(&at);
        fprintf(stderr, "%.*s\n", (int)size, (const char *)at);
        exit(1);
    }
    if (IS("Welcome")) {
        if (!known) { rank = (int32_t)number(&at); known = 1; begin("Arrived", 1); text(""); say(1, 1); }
    } else if (IS("Configure")) configure(at);
    else if (IS("Resumed")) { confirmed = (uint32_t)number(&at); again(); }
    else if (IS("Whose") && known) resume();
    else if (IS("Unknown")) { known = playing = 0; join(); }
    else if (IS("Begin")) {
        sequence = 0;
        regret = activations = slots = 0;
        began = wall();
        for (uint32_t k = 0; k < arms; k++) { sums[k] = 0; pulls[k] = 0; left[k] = 1; }
        playing = 1;
    } else if (IS("Eliminated")) {
        for (uint32_t n = length(&at); n--;) { uint32_t k = (uint32_t)number(&at); if (k < arms) left[k] = 0; }
        if (playing && remaining() < 2) finish();
    } else if (IS("Stop")) { playing = 0; report(); }
    else if (IS("Goodbye")) { envelope('C', 0, NULL, 0); return 1; }
    return 0;
}

int main(int count, char **given) {
    int linger = 2000, over = 0;
    double heard = wall();
    FILE *random = fopen("/dev/urandom", "rb");
    long seed;
    if (count != 2) fail("usage: agent tcp://ADDRESS:PORT");
    if (!random || fread(incarnation, 8, 1, random) != 1 || fread(&seed, sizeof seed, 1, random) != 1)
        fail("/dev/urandom cannot be read");
    fclose(random);
    srand48(seed);
    context = zmq_ctx_new();
    sock = zmq_socket(context, DEALER);
    zmq_setsockopt(sock, LINGER, &linger, sizeof linger);
    if (zmq_connect(sock, given[1])) fail("that is no address");
    join();
    while (!over) {
        const unsigned char *payload = hear(playing ? 0 : 200);
        double now = wall();
        if (payload) { heard = now; over = take(payload); }
        else if (playing) play();
        if (now - heard > 60) fail("the coordinator is silent");
        /* a question shows a coordinator that knows this connection not: it answers Whose */
        static double asked;
        if (now - heard > 0.5 && now - asked > 0.5) {
            asked = now;
            if (known) envelope('P', sent, NULL, 0); else join();
        }
    }
    zmq_close(sock);
    zmq_ctx_term(context);
    return 0;
}
