// What the kernels see, as samplers/scir/frame.py: `Frame` is read by all nodes of a batch, `Node` is the one at work,
// `Lists` is the work space of its tile.
#define FIXED_POINT 1073741824.0
// Purposes of random numbers: numerics/purposes.py; tests compare them.
enum { DRAW_SIZE = 2, DRAW_BIRTHS = 4, DRAW_BIRTH_SIZE = 5, DRAW_STRENGTH_JUMPS = 8, DRAW_STRENGTH_SIZE = 9,
       DRAW_LINK = 10, DRAW_RETRY = 11, DRAW_TEST = 12, DRAW_KEEP = 13 };
// Constants of samplers/scir, compared as well.
constexpr double LEAST_LISTED = 0.03, SERIES_LIMIT = 0.01, LEAST_TILT = 0.2, EVERYWHERE = 1e-9;
constexpr double LEAST_NON_LINK = 1e-6, LEAST_REST = 1e-9, LEAST_SQUARES = 1e-3, TINY = 1e-12, LEAST_DENOMINATOR = 1e-6;
constexpr int MAX_BIRTHS = 64, MOST_ATTEMPTS = 64;
// Bits of the filter that tells which communities of neighbours are not in the lists.
constexpr int FILTER_WORDS = 32;

struct Slot { int community; float weight; };

// All fields are eight bytes wide: samplers/scir/cuda/frame.py writes them.
struct Frame {
    const i64 *offsets; const int *neighbors; const i64 *hidden_offsets; const int *hidden_neighbors;
    Slot *rows; float *total;
    Slot *fresh; float *fresh_total;
    i64 *sums;        // [K][2] S_k and Q_k, fixed point
    i64 *change;      // [K][2] what a batch changes of them
    i64 *pairs;       // [K][2] links inside and exposure, fixed point
    i64 *measured;    // links inside, share of phi dropped, accepted moves; fixed point
    double *value; double *strength_total; double *expansion;
    double *links; double *non_links;
    i64 nodes, communities;
    double alpha_unlinked, alpha_linked, smallest_unlinked, smallest_linked;
    double cut, weight;
    i64 low, high, sweep;
    i64 first, stride;  // the nodes of this batch are first, first + stride, ...
    double background;  // a kernel that asks for it often writes it into its own copy
};

struct Node {
    i64 place, begin;
    u32 name;
    int degree;
    double alpha, smallest;
};

// The local lists of the communities that one update looks at: own ones first, in the order of slots. Fields of one
// memory follow each other in time: `rest` and `squares` first hold sums over neighbours, `tilt` the listed weight.
struct Lists {
    int capacity, most, mask;  // (G3) takes no community in beyond `most`
    bool largest;        // there are no larger lists: a draw that finds no room is made again
    int *table;          // open addressing: a position in the lists, or -1
    int *community;
    int *count;          // n_k, the node's links in k
    double *rest, *squares, *tilt, *excess, *inverse, *phi;
    double *gain, *pi;   // of the node's own communities, TILE of each
    u32 *filter;
    unsigned short *short_indicator;
    int *indicator;      // used where it is not null
};

DEVICE Key key_of(const Frame &f) { return {(u32)f.low, (u32)f.high, (u32)f.sweep}; }

DEVICE Node node_at(i64 place, const Frame &f) {
    i64 begin = f.offsets[place];
    int degree = (int)(f.offsets[place + 1] - begin);
    return {place, begin, (u32)place, degree, degree > 0 ? f.alpha_linked : f.alpha_unlinked,
            degree > 0 ? f.smallest_linked : f.smallest_unlinked};
}

DEVICE double background_of(const Frame &f) { return f.background; }

// A copy of the frame in registers: what is read through a pointer would be read again after every write.
DEVICE Frame copy_of(const Frame *frame) {
    Frame f = *frame;
    f.background = f.value[f.communities];
    return f;
}

// One row in the lanes of a tile: lane j has slot j; `used` slots come first.
struct Row { int community, used; double weight; };

DEVICE Slot load_slot(const Slot *rows, i64 node) {
    if (lane() < SLOTS) return rows[node * SLOTS + lane()];
    return {-1, 0.0f};
}

DEVICE Row row_of(Slot slot) {
    u32 end = votes_of(slot.community < 0);
    int used = end ? first_of(end) : TILE;
    return {lane() < used ? slot.community : -1, used, lane() < used ? (double)slot.weight : 0.0};
}

DEVICE double sum_of_lanes(double value) {
#pragma unroll
    for (int distance = TILE / 2; distance > 0; distance /= 2) value += from_opposite(value, distance);
    return value;
}

DEVICE double sum_up_to_lane(double value) {
#pragma unroll
    for (int distance = 1; distance < TILE; distance *= 2) {
        double below = from_below(value, distance);
        if (lane() >= distance) value += below;
    }
    return value;
}

// The lane on whose part of a line u falls, from sums up to each lane; the last part where rounding puts u beyond.
DEVICE int lane_at(double u, double weight, double up_to) {
    u32 found = votes_of(weight > 0.0 && u < up_to);
    return found ? first_of(found) : last_of(votes_of(weight > 0.0));
}

DEVICE u32 hash_of(int community) { return ((u32)community * 0x9E3779B1u) >> 7; }

DEVICE int find(int community, const Lists &lists) {
    u32 at = hash_of(community) & lists.mask;
    while (true) {
        int position = lists.table[at];
        if (position < 0 || lists.community[position] == community) return position;
        at = (at + 1) & lists.mask;
    }
}

// Put a community that is new at a position; lanes may do so together, for different communities.
DEVICE void append(int community, int position, double excess, Lists &lists) {
    lists.community[position] = community;
    lists.rest[position] = lists.squares[position] = lists.tilt[position] = lists.phi[position] = 0.0;
    lists.excess[position] = excess;
    lists.count[position] = 0;
    u32 at = hash_of(community) & lists.mask;
    while (replace_if(&lists.table[at], -1, position) >= 0) at = (at + 1) & lists.mask;
}

DEVICE u32 filter_bit(int community) { return ((u32)community * 0x85EBCA6Bu) >> 22; }
DEVICE void mark_seen(int community, Lists &lists) {
    u32 bit = filter_bit(community);
    set_bits(&lists.filter[bit / 32], 1u << (bit % 32));
}
DEVICE bool maybe_seen(int community, const Lists &lists) {
    u32 bit = filter_bit(community);
    return lists.filter[bit / 32] >> (bit % 32) & 1u;
}

DEVICE int indicator_of(int link, const Lists &lists) {
    return lists.indicator ? lists.indicator[link] : (int)lists.short_indicator[link];
}
DEVICE void set_indicator(int link, int position, Lists &lists) {
    if (lane() != 0) return;
    if (lists.indicator) lists.indicator[link] = position;
    else lists.short_indicator[link] = (unsigned short)position;
}
