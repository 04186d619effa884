// What the kernels need of a GPU: lanes of a tile, shared memory, atomic sums. The host twin of the tests
// (tests/samplers/cuda/twin.h) has the same functions for a processor; nothing else here names CUDA.
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEVICE __device__ __forceinline__
#define RARELY __device__ __noinline__
#define KERNEL extern "C" __global__ void
// So few registers that the tiles of so many blocks fit on a processor.
#define LIGHT_BOUNDS __launch_bounds__(128, LIGHT_BLOCKS)

// A tile of TILE lanes works on one node: lane j looks at slot j of a row.
DEVICE int lane() { return threadIdx.x & (TILE - 1); }
DEVICE u32 tile_mask() { return (TILE == 32 ? 0xffffffffu : 0xffffu) << (threadIdx.x & 31 & ~(TILE - 1)); }
DEVICE u32 votes_of(bool vote) {
    return __ballot_sync(tile_mask(), vote) >> (threadIdx.x & 31 & ~(TILE - 1)) & (TILE == 32 ? 0xffffffffu : 0xffffu);
}
template <class T> DEVICE T from_lane(T value, int source) { return __shfl_sync(tile_mask(), value, source, TILE); }
template <class T> DEVICE T from_below(T value, int distance) {
    return __shfl_up_sync(tile_mask(), value, distance, TILE);
}
template <class T> DEVICE T from_opposite(T value, int distance) {
    return __shfl_xor_sync(tile_mask(), value, distance, TILE);
}
DEVICE void sync_tile() { __syncwarp(tile_mask()); }
DEVICE int first_of(u32 votes) { return __ffs(votes) - 1; }
DEVICE int last_of(u32 votes) { return 31 - __clz(votes); }
DEVICE int count_of(u32 votes) { return __popc(votes); }

DEVICE i64 thread_number() { return blockIdx.x * (i64)blockDim.x + threadIdx.x; }
DEVICE i64 threads_in_all() { return gridDim.x * (i64)blockDim.x; }
DEVICE int tile_in_block() { return threadIdx.x / TILE; }
DEVICE char *shared_memory() {
    extern __shared__ __align__(16) char memory[];
    return memory;
}
DEVICE void add_to(i64 *sum, i64 value) { atomicAdd((u64 *)sum, (u64)value); }
DEVICE i64 take(i64 *counter, i64 many) { return (i64)atomicAdd((u64 *)counter, (u64)many); }
DEVICE int replace_if(int *place, int expected, int value) { return atomicCAS(place, expected, value); }
DEVICE int add_count(int *count, int value) { return atomicAdd(count, value); }
DEVICE void set_bits(u32 *word, u32 bits) { atomicOr(word, bits); }
DEVICE u32 high_product(u32 a, u32 b) { return __umulhi(a, b); }
