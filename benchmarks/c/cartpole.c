/* CartPole as a C programmer would write it for speed: the bar that compiled Python is held to.
 *
 * It does what a batch of CartPoles has to do: doubles for the state, one row per number; float32
 * observations, float64 rewards and byte flags written out; int64 actions read in; the time limit;
 * and, one step after its end, a new episode drawn from the environment's own PCG64 stream, in the
 * order in which NumPy draws, so that its episodes can be compared with those of a reference.
 * Sine and cosine are polynomials after a reduction by quarter turns, good for any angle that a pole
 * can reach. Eight environments go through the arithmetic together (GCC's and clang's vectors, as
 * wide as the machine has them), products and sums are fused where the machine can.
 *
 * It does not look whether actions are valid, keep the returns and lengths of episodes, know other
 * physics or rewards than these, start episodes in any other way, raise errors or use threads. No
 * two machines need give the same bits.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8
#define INLINE static inline __attribute__((always_inline))

typedef double numbers __attribute__((vector_size(8 * LANES)));
typedef int64_t words __attribute__((vector_size(8 * LANES)));
typedef float singles __attribute__((vector_size(4 * LANES)));
typedef int8_t bytes __attribute__((vector_size(LANES)));
typedef unsigned __int128 uint128;

typedef struct {
    uint128 state, increment;
} stream;

typedef struct {
    int64_t count, limit, over;
    double *x, *speed, *angle, *spin;
    int64_t *elapsed;
    int32_t *waiting; /* the environments whose episode is over, `over` of them */
    stream *streams;
} batch;

typedef struct {
    float *observations; /* four rows */
    double *rewards;
    uint8_t *terminated, *truncated;
} results;

INLINE numbers all(double value) { return value - (numbers){0}; }

INLINE numbers choose(words mask, numbers yes, numbers no) {
    return (numbers)((mask & (words)yes) | (~mask & (words)no));
}

INLINE void sine_cosine(numbers x, numbers *sine, numbers *cosine) {
    /* Adding 1.5 * 2**52 leaves the number of quarter turns in the lowest bits. */
    const double shift = 6755399441055744.0;
    numbers turned = x * 0.63661977236758134308 + shift;
    words quarter = (words)turned;
    numbers n = turned - shift;
    numbers r = (x - n * 1.5707963267948965580) - n * 6.1232339957367658861e-17;
    numbers z = r * r;
    numbers s = z * 1.5915309183057724861e-10 - 2.5051092308431312731e-8;
    s = z * (z * s + 2.7557315910939001538e-6) - 0.00019841269836385434484;
    s = z * (z * s + 0.0083333333333306993363) - 0.16666666666666664365;
    s = r + (z * r) * s;
    numbers c = z * -1.1380868171449770957e-11 + 2.0876121534608453101e-9;
    c = z * (z * c - 2.7557317151858864538e-7) + 0.000024801587298532259045;
    c = z * (z * c - 0.0013888888888887241376) + 0.041666666666666665227;
    c = (1.0 - 0.5 * z) + (z * z) * c;
    words odd = -(quarter & 1);
    words sine_sign = (quarter & 2) << 62, cosine_sign = ((quarter + 1) & 2) << 62;
    *sine = (numbers)((words)choose(odd, c, s) ^ sine_sign);
    *cosine = (numbers)((words)choose(odd, s, c) ^ cosine_sign);
}

/* Step up to LANES environments from the i-th on. */
INLINE void advance(batch *b, const int64_t *actions, results out, int64_t i, int64_t lanes) {
    const double per_mass = 1.0 / 1.1, moment = 0.05, seconds = 0.02;
    const double angle_limit = 12 * 2 * M_PI / 360;
    words action = {0};
    memcpy(&action, actions + i, lanes * 8);
    numbers x = *(numbers *)(b->x + i), speed = *(numbers *)(b->speed + i);
    numbers angle = *(numbers *)(b->angle + i), spin = *(numbers *)(b->spin + i);
    numbers s, c;
    sine_cosine(angle, &s, &c);
    numbers push = choose(action == 1, all(10.0), all(-10.0));
    numbers drive = (push + moment * (spin * spin) * s) * per_mass;
    numbers bend = (9.8 * s - c * drive) / (0.5 * (4.0 / 3.0 - 0.1 * per_mass * (c * c)));
    numbers pull = drive - moment * per_mass * (bend * c);
    x += seconds * speed;
    speed += seconds * pull;
    angle += seconds * spin;
    spin += seconds * bend;
    *(numbers *)(b->x + i) = x, *(numbers *)(b->speed + i) = speed;
    *(numbers *)(b->angle + i) = angle, *(numbers *)(b->spin + i) = spin;
    words elapsed = *(words *)(b->elapsed + i) + 1;
    *(words *)(b->elapsed + i) = elapsed;
    words ended = (x < -2.4) | (x > 2.4) | (angle < -angle_limit) | (angle > angle_limit);
    words cut = elapsed >= b->limit;

    numbers seen[4] = {x, speed, angle, spin};
    for (int k = 0; k < 4; k++) {
        singles row = __builtin_convertvector(seen[k], singles);
        memcpy(out.observations + k * b->count + i, &row, lanes * 4);
    }
    numbers reward = all(1.0);
    memcpy(out.rewards + i, &reward, lanes * 8);
    bytes flags = __builtin_convertvector(ended & 1, bytes);
    memcpy(out.terminated + i, &flags, lanes);
    flags = __builtin_convertvector(cut & 1, bytes);
    memcpy(out.truncated + i, &flags, lanes);
}

INLINE double draw(stream *stream) {
    const uint128 multiplier = (uint128)0x2360ed051fc65da4 << 64 | 0x4385df649fccf645;
    stream->state = stream->state * multiplier + stream->increment;
    uint64_t value = (uint64_t)(stream->state >> 64) ^ (uint64_t)stream->state;
    unsigned turn = stream->state >> 122;
    value = value >> turn | value << (-turn & 63);
    return -0.05 + 0.1 * ((value >> 11) * 0x1p-53);
}

static void start(batch *b, int64_t i, results out) {
    double *rows[4] = {b->x, b->speed, b->angle, b->spin};
    stream own = b->streams[i];
    for (int k = 0; k < 4; k++) {
        rows[k][i] = draw(&own);
        out.observations[k * b->count + i] = rows[k][i];
    }
    b->streams[i] = own;
    b->elapsed[i] = 0;
    out.rewards[i] = 0.0;
    out.terminated[i] = out.truncated[i] = 0;
}

/* Note down the environments with a flag set, eight flags at a time. */
static void collect(batch *b, results out) {
    int64_t found = 0, i = 0;
    for (; i + 8 <= b->count; i += 8) {
        uint64_t ended, cut;
        memcpy(&ended, out.terminated + i, 8);
        memcpy(&cut, out.truncated + i, 8);
        for (uint64_t over = ended | cut; over; over &= over - 1)
            b->waiting[found++] = i + __builtin_ctzll(over) / 8;
    }
    for (; i < b->count; i++)
        if (out.terminated[i] | out.truncated[i]) b->waiting[found++] = i;
    b->over = found;
}

static void step(batch *b, const int64_t *actions, results out) {
    int64_t i = 0;
    for (; i + LANES <= b->count; i += LANES) advance(b, actions, out, i, LANES);
    if (i < b->count) advance(b, actions, out, i, b->count - i);
    for (int64_t k = 0; k < b->over; k++) start(b, b->waiting[k], out);
    collect(b, out);
}

void cartpole_step(batch *b, const int64_t *actions, const results *out) { step(b, actions, *out); }

/* Many steps; actions and results are one batch after the other. */
void cartpole_rollout(batch *b, const int64_t *actions, const results *out, int64_t steps) {
    results at = *out;
    for (int64_t t = 0; t < steps; t++) {
        step(b, actions + t * b->count, at);
        at.observations += 4 * b->count, at.rewards += b->count;
        at.terminated += b->count, at.truncated += b->count;
    }
}

/* Each stream is four words: high and low half of its state, high and low half of its increment. */
batch *cartpole_new(int64_t count, int64_t limit, const uint64_t *seeds, const results *out) {
    int64_t padded = (count + LANES - 1) / LANES * LANES;
    batch *b = calloc(1, sizeof(batch));
    *b = (batch){.count = count, .limit = limit};
    double **rows[] = {&b->x, &b->speed, &b->angle, &b->spin, (double **)&b->elapsed};
    for (int k = 0; k < 5; k++) {
        *rows[k] = aligned_alloc(64, padded * 8);
        memset(*rows[k], 0, padded * 8);
    }
    b->waiting = malloc(count * sizeof(int32_t));
    b->streams = aligned_alloc(64, (count * sizeof(stream) + 63) / 64 * 64);
    for (int64_t i = 0; i < count; i++, seeds += 4) {
        b->streams[i].state = (uint128)seeds[0] << 64 | seeds[1];
        b->streams[i].increment = (uint128)seeds[2] << 64 | seeds[3];
        start(b, i, *out);
    }
    return b;
}

void cartpole_free(batch *b) {
    void *parts[] = {b->x, b->speed, b->angle, b->spin, b->elapsed, b->waiting, b->streams, b};
    for (int k = 0; k < 8; k++) free(parts[k]);
}
