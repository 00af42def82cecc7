/* Members of a KIP-848 group, all at once: how long until each has its share.
 *
 *   join PORT GROUP TOPIC MEMBERS PARTITIONS PACE_MS
 *
 * Each member has a connection of its own, sends ConsumerGroupHeartbeat 1, and does what a client does: it gives up what
 * its assignment no longer has, takes what is new, and says so with its next heartbeat, at once. Where nothing has
 * changed the next one comes PACE_MS after the answer. It is over when every member has PARTITIONS / MEMBERS, and no
 * partition is with two; that takes, in seconds and heartbeats,
 *   seconds heartbeats
 * and then all of them leave, which is not counted. Any error code ends the run with status 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, REQUEST_MAX = 1 << 16, RESPONSE_MAX = 1 << 16, GIVE_UP_S = 120, SESSION_MS = 300000 };
enum { JOINING = 0, LEAVING = -1, API_KEY = 68, VERSION = 1 };

typedef struct {
    int fd, id, is_waiting; /* for an answer */
    int32_t epoch;
    int32_t *owned;
    int owned_count, has_news; /* what it owns was not said yet */
    uint8_t *in;
    size_t have;
    double due;
} member;

static const char *group, *topic;
static uint8_t topic_id[16]; /* as the first assignment has it */
static int member_count, partition_count, quota;
static int settled, owned_total; /* members with their share; partitions with anybody */
static long heartbeats;
static double pace;
static int poller;
static member *members;

static void fail(const char *what) {
    fprintf(stderr, "join: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Writing */

static uint8_t *put_number(uint8_t *at, int bytes, int64_t value) {
    for (int i = bytes - 1; i >= 0; i--, value >>= 8) at[i] = (uint8_t)value;
    return at + bytes;
}

static uint8_t *put_varint(uint8_t *at, uint32_t value) {
    for (; value > 127; value >>= 7) *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_string(uint8_t *at, const char *text) {
    size_t length = strlen(text);
    at = put_varint(at, (uint32_t)length + 1);
    memcpy(at, text, length);
    return at + length;
}

static uint8_t *put_owned(uint8_t *at, const member *m) {
    if (!m->owned_count) return put_varint(at, 1);
    at = put_varint(at, 2);
    memcpy(at, topic_id, sizeof topic_id);
    at = put_varint(at + sizeof topic_id, (uint32_t)m->owned_count + 1);
    for (int i = 0; i < m->owned_count; i++) at = put_number(at, 4, m->owned[i]);
    return put_varint(at, 0);
}

static uint8_t *put_header(uint8_t *at, int correlation_id) {
    static const char client_id[] = "bench";
    at = put_number(at, 2, API_KEY);
    at = put_number(at, 2, VERSION);
    at = put_number(at, 4, correlation_id);
    at = put_number(at, 2, sizeof client_id - 1);
    memcpy(at, client_id, sizeof client_id - 1);
    return put_varint(at + sizeof client_id - 1, 0);
}

static void heartbeat(member *m) {
    uint8_t out[REQUEST_MAX], *at = put_header(out + 4, m->id);
    char id[32];
    int is_joining = m->epoch == JOINING;
    snprintf(id, sizeof id, "member-%04d", m->id);
    at = put_string(at, group);
    at = put_string(at, id);
    at = put_number(at, 4, m->epoch);
    at = put_number(at, 2, 0); /* neither instance id nor rack */
    at = put_number(at, 4, is_joining ? SESSION_MS : -1);
    at = put_varint(at, is_joining ? 2 : 0);
    if (is_joining) at = put_string(at, topic);
    at = put_number(at, 2, 0); /* neither regex nor assignor */
    at = m->has_news || is_joining ? put_owned(at, m) : put_varint(at, 0);
    at = put_varint(at, 0);
    put_number(out, 4, at - out - 4);
    if (send(m->fd, out, (size_t)(at - out), MSG_NOSIGNAL) != at - out) fail("send");
    m->has_news = 0;
    m->is_waiting = 1;
    heartbeats++;
}

/* Reading */

static int64_t take_number(uint8_t **at, int bytes) {
    int64_t value = (int8_t)(*at)[0];
    for (int i = 1; i < bytes; i++) value = (value << 8) | (*at)[i];
    *at += bytes;
    return value;
}

static uint32_t take_varint(uint8_t **at) {
    uint32_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

static void skip_string(uint8_t **at) {
    uint32_t length = take_varint(at);
    if (length) *at += length - 1;
}

static void count(const member *m, int by) {
    settled += m->owned_count == quota ? by : 0;
    owned_total += by * m->owned_count;
}

static void take_assignment(member *m, uint8_t **at) {
    uint32_t topics = take_varint(at) - 1;
    count(m, -1);
    m->owned_count = 0;
    if (topics > 1) fail("an assignment of more than one topic");
    if (topics) {
        memcpy(topic_id, *at, sizeof topic_id);
        *at += sizeof topic_id;
        m->owned_count = (int)take_varint(at) - 1;
        for (int i = 0; i < m->owned_count; i++) m->owned[i] = (int32_t)take_number(at, 4);
    }
    m->has_news = 1;
    count(m, 1);
}

static void take_answer(member *m) {
    uint8_t *at = m->in + 8;
    take_varint(&at);
    take_number(&at, 4);
    int error = (int)take_number(&at, 2);
    if (error) {
        fprintf(stderr, "join: error code %d for member %d in epoch %d\n", error, m->id, m->epoch);
        exit(1);
    }
    skip_string(&at);
    skip_string(&at);
    m->epoch = (int32_t)take_number(&at, 4);
    take_number(&at, 4);
    if (take_number(&at, 1) >= 0) take_assignment(m, &at);
    m->is_waiting = 0;
    m->have = 0;
}

/* Whether the answer is whole. */
static int receive(member *m) {
    ssize_t n = recv(m->fd, m->in + m->have, RESPONSE_MAX - m->have, 0);
    if (n == 0) errno = ECONNRESET;
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("receive");
    if (n > 0) m->have += (size_t)n;
    uint8_t *at = m->in;
    return m->have >= 4 && (int64_t)m->have >= 4 + take_number(&at, 4);
}

static void open_connection(member *m, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = m};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    m->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(m->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(m->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(m->fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(poller, EPOLL_CTL_ADD, m->fd, &event);
    m->in = malloc(RESPONSE_MAX);
    m->owned = malloc((size_t)partition_count * sizeof *m->owned);
}

/* Those whose time has come send; how long until the next, in milliseconds. */
static int send_due(void) {
    double at = now(), next = at + 1;
    for (int i = 0; i < member_count; i++) {
        member *m = members + i;
        if (m->is_waiting) continue;
        if (m->due <= at) heartbeat(m);
        else if (m->due < next) next = m->due;
    }
    return (int)((next - at) * 1000) + 1;
}

static void take_answers(int timeout_ms) {
    struct epoll_event events[EVENTS];
    int n = epoll_wait(poller, events, EVENTS, timeout_ms);
    if (n < 0 && errno != EINTR) fail("waiting for answers");
    for (int i = 0; i < n; i++) {
        member *m = events[i].data.ptr;
        if (!receive(m)) continue;
        take_answer(m);
        m->due = m->has_news ? 0 : now() + pace;
        if (!m->due || !pace) heartbeat(m);
    }
}

static void check_owners(void) {
    char *is_owned = calloc((size_t)partition_count, 1);
    for (int i = 0; i < member_count; i++)
        for (int j = 0; j < members[i].owned_count; j++)
            if (is_owned[members[i].owned[j]]++) fail("a partition with two members");
}

static void leave_all(void) {
    for (int i = 0; i < member_count; i++) {
        member *m = members + i;
        fcntl(m->fd, F_SETFL, 0);
        while (m->is_waiting)
            if (receive(m)) take_answer(m);
        m->epoch = LEAVING;
        heartbeat(m);
    }
    for (int i = 0; i < member_count; i++) {
        while (!receive(members + i)) continue;
        close(members[i].fd);
    }
}

int main(int argument_count, char **v) {
    if (argument_count != 7) return fprintf(stderr, "join: see the first lines of join.c\n"), 2;
    group = v[2], topic = v[3], member_count = atoi(v[4]), partition_count = atoi(v[5]);
    pace = atof(v[6]) / 1000, quota = partition_count / member_count;
    poller = epoll_create1(0);
    members = calloc((size_t)member_count, sizeof *members);
    for (int i = 0; i < member_count; i++) members[i].id = i, open_connection(members + i, atoi(v[1]));
    double began = now();
    do {
        take_answers(send_due());
        if (now() - began > GIVE_UP_S) fprintf(stderr, "join: %d of %d settled\n", settled, member_count), exit(1);
    } while (settled < member_count || owned_total < partition_count);
    printf("%.6f %ld\n", now() - began, heartbeats);
    check_owners();
    leave_all();
    return 0;
}
