// The kernels' source on a processor: what samplers/scir/cuda/source/device.cu has for a GPU. Every thread of a block is
// a fiber; a fiber that reaches an exchange between lanes waits for the other lanes of its tile, and lanes that meet at
// different exchanges end the program: on a GPU they would wait for ever.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>
using std::fmax; using std::fmin; using std::fabs; using std::log; using std::exp; using std::log1p; using std::floor;
using std::sqrt; using std::rint; using std::copysign;

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEVICE static inline
#define RARELY static
#define KERNEL static void
#define LIGHT_BOUNDS

namespace twin {
struct Fiber { ucontext_t context; bool done; std::vector<char> stack; };
struct Tile { u64 values[2][TILE]; int kinds[TILE]; int arrived; i64 generation; };
static std::vector<Fiber> fibers;
static std::vector<Tile> tiles;
static ucontext_t scheduler;
static int threads, blocks, block, current;
static bool moved;
static std::vector<char> memory;
static const std::function<void()> *body;

static void start() {
    (*body)();
    fibers[current].done = true;
    swapcontext(&fibers[current].context, &scheduler);
}

static void run(int number_of_blocks, int number_of_threads, i64 shared, const std::function<void()> &kernel) {
    blocks = number_of_blocks;
    threads = number_of_threads;
    body = &kernel;
    memory.assign(shared + 64, 0x55);
    fibers.resize(threads);
    for (block = 0; block < blocks; block++) {
        tiles.assign((threads + TILE - 1) / TILE, Tile());
        for (int i = 0; i < threads; i++) {
            fibers[i].stack.resize(1 << 16);
            fibers[i].done = false;
            getcontext(&fibers[i].context);
            fibers[i].context.uc_stack.ss_sp = fibers[i].stack.data();
            fibers[i].context.uc_stack.ss_size = fibers[i].stack.size();
            fibers[i].context.uc_link = &scheduler;
            makecontext(&fibers[i].context, start, 0);
        }
        for (bool left = true; left;) {
            left = moved = false;
            for (current = 0; current < threads; current++)
                if (!fibers[current].done) {
                    left = true;
                    swapcontext(&scheduler, &fibers[current].context);
                    moved = moved || fibers[current].done;
                }
            if (left && !moved) { fprintf(stderr, "twin: lanes wait for each other for ever\n"); abort(); }
        }
    }
}

// Give a value to the other lanes of the tile; returns the values of all.
static const u64 *exchange(u64 value, int kind) {
    Tile &tile = tiles[current / TILE];
    int lane = current % TILE;
    i64 generation = tile.generation;
    tile.values[generation % 2][lane] = value;
    tile.kinds[lane] = kind;
    moved = true;
    if (++tile.arrived == TILE) {
        for (int other = 0; other < TILE; other++)
            if (tile.kinds[other] != kind) { fprintf(stderr, "twin: lanes meet at different exchanges\n"); abort(); }
        tile.arrived = 0;
        tile.generation++;
    } else {
        while (tile.generation == generation) swapcontext(&fibers[current].context, &scheduler);
    }
    return tiles[current / TILE].values[generation % 2];
}

template <class T> static u64 bits_of(T value) { u64 bits = 0; memcpy(&bits, &value, sizeof value); return bits; }
template <class T> static T value_of(u64 bits) { T value; memcpy(&value, &bits, sizeof value); return value; }
}  // namespace twin

DEVICE int lane() { return twin::current % TILE; }
DEVICE u32 votes_of(bool vote) {
    const u64 *values = twin::exchange(vote, 1);
    u32 found = 0;
    for (int i = 0; i < TILE; i++) found |= (u32)values[i] << i;
    return found;
}
template <class T> DEVICE T from_lane(T value, int source) {
    return twin::value_of<T>(twin::exchange(twin::bits_of(value), 2)[source & (TILE - 1)]);
}
template <class T> DEVICE T from_below(T value, int distance) {
    const u64 *values = twin::exchange(twin::bits_of(value), 3);
    return lane() >= distance ? twin::value_of<T>(values[lane() - distance]) : value;
}
template <class T> DEVICE T from_opposite(T value, int distance) {
    return twin::value_of<T>(twin::exchange(twin::bits_of(value), 4)[lane() ^ distance]);
}
DEVICE void sync_tile() { twin::exchange(0, 5); }
DEVICE int first_of(u32 votes) { return __builtin_ffs((int)votes) - 1; }
DEVICE int last_of(u32 votes) { return votes ? 31 - __builtin_clz(votes) : -1; }
DEVICE int count_of(u32 votes) { return __builtin_popcount(votes); }
DEVICE i64 thread_number() { return twin::block * (i64)twin::threads + twin::current; }
DEVICE i64 threads_in_all() { return twin::blocks * (i64)twin::threads; }
DEVICE int tile_in_block() { return twin::current / TILE; }
DEVICE char *shared_memory() { return (char *)(((uintptr_t)twin::memory.data() + 15) & ~(uintptr_t)15); }
DEVICE void add_to(i64 *sum, i64 value) { *sum += value; }
DEVICE i64 take(i64 *counter, i64 many) { i64 old = *counter; *counter += many; return old; }
DEVICE int replace_if(int *place, int expected, int value) {
    int old = *place;
    if (old == expected) *place = value;
    return old;
}
DEVICE void add_count(int *count, int value) { *count += value; }
DEVICE void set_bits(u32 *word, u32 bits) { *word |= bits; }
DEVICE u32 high_product(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
