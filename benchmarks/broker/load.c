/* The load of the broker benchmark: frames that were made beforehand, sent again and again, and their answers.
 *
 *   load produce PORT FRAMES CONNECTIONS WINDOW SECONDS COUNT ERROR_AT [SEQUENCE_AT]
 *   load fetch   PORT FRAME CONSUMERS BYTES OFFSET_AT RECORDS_AT
 *
 * It has to be lighter than any broker: nothing is encoded, compressed or decoded here, no thread is started, and the
 * frame (a file) is the same for every request but for the offset that a fetch asks for. `produce` (of records, or of
 * anything that has one error code in its answer) keeps WINDOW requests in flight on each connection, for SECONDS or
 * until COUNT were answered (0: no limit of that kind), and prints
 *   requests seconds p50_us p99_us p999_us
 * Where there are several frames in the file, the connections take them in turn. SEQUENCE_AT is where a producer's
 * sequence stands in its frame, which ends with its one batch of one record: it grows by one with each request.
 * `fetch` has each consumer read from offset 0 until it has BYTES of records, and prints
 *   bytes seconds p99_us
 * Positions (ERROR_AT, RECORDS_AT) are in a response, its size included. Any error code ends the run with status 1.
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

enum { EVENTS = 256, WINDOW_MAX = 64, SMALL_RESPONSE = 4096, SAMPLES_MAX = 1 << 24, STALL_MS = 30000 };

typedef struct {
    int fd;
    double sent_at[WINDOW_MAX]; /* a ring: answers come in the order of the requests */
    long sent, answered;
    size_t unsent_from; /* into the frame that the socket did not take whole */
    int is_sending;
    uint8_t *frame;
    size_t frame_bytes;
    uint8_t *in; /* the answer that is arriving */
    size_t have, room;
    int64_t offset, bytes; /* of a consumer */
} connection;

enum { SEQUENCE_TO_CRC = 36, SEQUENCE_TO_CHECKED = 32 }; /* both stand so far before a batch's sequence */

static uint8_t *frames; /* one behind the other, as they are in the file */
static size_t frames_bytes, sequence_at;
static uint32_t crc_table[256];
static float *samples;
static long sample_count;
static int poller;

static void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int64_t big_endian(const uint8_t *at, int bytes) {
    int64_t value = (int8_t)at[0];
    for (int i = 1; i < bytes; i++) value = (value << 8) | at[i];
    return value;
}

static void put_big_endian(uint8_t *at, int bytes, int64_t value) {
    for (int i = bytes - 1; i >= 0; i--, value >>= 8) at[i] = (uint8_t)value;
}

static void read_frames(const char *path) {
    int fd = open(path, O_RDONLY);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (size <= 0) fail(path);
    frames_bytes = (size_t)size;
    frames = malloc(frames_bytes);
    if (pread(fd, frames, frames_bytes, 0) != size) fail(path);
    close(fd);
}

/* The next one, and the first again behind the last: a copy, since it may be changed. */
static void take_frame(connection *c) {
    static size_t at;
    c->frame_bytes = 4 + (size_t)big_endian(frames + at, 4);
    c->frame = malloc(c->frame_bytes);
    memcpy(c->frame, frames + at, c->frame_bytes);
    at = (at + c->frame_bytes) % frames_bytes;
}

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value & 1 ? 0x82F63B78u ^ (value >> 1) : value >> 1;
        crc_table[i] = value;
    }
}

static void put_sequence(connection *c) {
    uint8_t *sequence = c->frame + sequence_at, *end = c->frame + c->frame_bytes;
    uint32_t crc = ~0u;
    put_big_endian(sequence, 4, c->sent);
    for (uint8_t *at = sequence - SEQUENCE_TO_CHECKED; at < end; at++) crc = crc_table[(crc ^ *at) & 255] ^ (crc >> 8);
    put_big_endian(sequence - SEQUENCE_TO_CRC, 4, ~crc);
}

static void open_connection(connection *c, int port, size_t room) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
    c->in = malloc(c->room = room);
    take_frame(c);
}

static void watch_for_room(connection *c, int wanted) {
    struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
    if (wanted != c->is_sending) epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    c->is_sending = wanted;
}

/* Send as many frames as the window allows and the socket takes. */
static void send_frames(connection *c, long window, long limit) {
    while (c->unsent_from || (c->sent - c->answered < window && c->sent < limit)) {
        if (!c->unsent_from && sequence_at) put_sequence(c);
        if (!c->unsent_from) c->sent_at[c->sent++ % WINDOW_MAX] = now();
        ssize_t n = send(c->fd, c->frame + c->unsent_from, c->frame_bytes - c->unsent_from, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) fail("send");
        if (n > 0) c->unsent_from += (size_t)n;
        if (c->unsent_from < c->frame_bytes) {
            if (!c->unsent_from) c->sent--; /* not a byte of it: it was not sent */
            watch_for_room(c, 1);
            return;
        }
        c->unsent_from = 0;
    }
    watch_for_room(c, 0);
}

static void note_answer(connection *c) {
    double took = now() - c->sent_at[c->answered++ % WINDOW_MAX];
    if (sample_count < SAMPLES_MAX) samples[sample_count++] = (float)(took * 1e6);
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(double fraction) {
    return sample_count ? samples[(long)((double)(sample_count - 1) * fraction)] : 0;
}

static int ready(struct epoll_event *events) {
    int count = epoll_wait(poller, events, EVENTS, STALL_MS);
    if (count == 0) errno = ETIMEDOUT;
    if (count <= 0) fail("waiting for answers");
    return count;
}

static void receive(connection *c) {
    ssize_t n = recv(c->fd, c->in + c->have, c->room - c->have, 0);
    if (n == 0) errno = ECONNRESET;
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("receive");
    if (n > 0) c->have += (size_t)n;
}

/* How long the first answer in the buffer is; 0 while it is not whole. */
static size_t whole_answer(const connection *c) {
    size_t size = c->have < 4 ? 0 : 4 + (size_t)big_endian(c->in, 4);
    if (size > c->room) fail("an answer is larger than was asked for");
    return size && c->have >= size ? size : 0;
}

static long take_answers(connection *c, size_t error_at) {
    long taken = 0;
    size_t size;
    receive(c);
    while ((size = whole_answer(c))) {
        if (size < error_at + 2 || big_endian(c->in + error_at, 2)) {
            fprintf(stderr, "load: error code %d\n", (int)big_endian(c->in + error_at, 2));
            exit(1);
        }
        note_answer(c);
        taken++;
        memmove(c->in, c->in + size, c->have -= size);
    }
    return taken;
}

static void produce(int port, char **v) {
    long connections = atol(v[0]), window = atol(v[1]), count = atol(v[3]), answered = 0;
    double seconds = atof(v[2]), began, elapsed;
    size_t error_at = (size_t)atol(v[4]);
    sequence_at = v[5] ? (size_t)atol(v[5]) : 0;
    long each = count ? count / connections : INT64_MAX;
    connection *all = calloc((size_t)connections, sizeof *all);
    struct epoll_event events[EVENTS];
    for (long i = 0; i < connections; i++) open_connection(all + i, port, SMALL_RESPONSE);
    began = now();
    for (long i = 0; i < connections; i++) send_frames(all + i, window, each);
    do {
        int n = ready(events);
        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;
            if (events[i].events & ~(uint32_t)EPOLLOUT) answered += take_answers(c, error_at);
            send_frames(c, window, each);
        }
        elapsed = now() - began;
    } while ((!seconds || elapsed < seconds) && (!count || answered < each * connections));
    qsort(samples, (size_t)sample_count, sizeof *samples, by_size);
    printf("%ld %.6f %.1f %.1f %.1f\n", answered, elapsed, percentile(.5), percentile(.99), percentile(.999));
}

static void ask(connection *c, size_t offset_at) {
    put_big_endian(c->frame + offset_at, 8, c->offset);
    c->sent_at[c->sent++ % WINDOW_MAX] = now();
    if (send(c->fd, c->frame, c->frame_bytes, MSG_NOSIGNAL) != (ssize_t)c->frame_bytes) fail("send");
}

/* Step over the whole batches of an answer: the header alone says where the next one begins. */
static void take_records(connection *c, size_t records_at) {
    int64_t length = big_endian(c->in + records_at, 4);
    uint8_t *at = c->in + records_at + 4, *end = at + length;
    while (end - at >= 61 && end - at >= 12 + big_endian(at + 8, 4)) {
        c->offset = big_endian(at, 8) + big_endian(at + 23, 4) + 1;
        at += 12 + big_endian(at + 8, 4);
    }
    c->bytes += at - (c->in + records_at + 4);
    c->have = 0;
    note_answer(c);
}

static void fetch(int port, char **v) {
    long consumers = atol(v[0]), left = consumers;
    int64_t wanted = atoll(v[1]), total = 0;
    size_t offset_at = (size_t)atol(v[2]), records_at = (size_t)atol(v[3]);
    connection *all = calloc((size_t)consumers, sizeof *all);
    struct epoll_event events[EVENTS];
    double began;
    for (long i = 0; i < consumers; i++) open_connection(all + i, port, 4 << 20);
    began = now();
    for (long i = 0; i < consumers; i++) ask(all + i, offset_at);
    while (left) {
        int n = ready(events);
        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;
            receive(c);
            if (!whole_answer(c)) continue;
            int64_t before = c->offset;
            take_records(c, records_at);
            if (c->offset == before) fail("an answer without a whole batch");
            if (c->bytes < wanted) ask(c, offset_at);
            else left--, total += c->bytes;
        }
    }
    qsort(samples, (size_t)sample_count, sizeof *samples, by_size);
    printf("%lld %.6f %.1f\n", (long long)total, now() - began, percentile(.99));
}

int main(int count, char **v) {
    if (count < 8) return fprintf(stderr, "load: see the first lines of load.c\n"), 2;
    poller = epoll_create1(0);
    samples = malloc(SAMPLES_MAX * sizeof *samples);
    make_crc_table();
    read_frames(v[3]);
    if (!strcmp(v[1], "produce")) produce(atoi(v[2]), v + 4);
    else fetch(atoi(v[2]), v + 4);
    return 0;
}
