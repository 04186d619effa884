// The default local move: a node's memberships redrawn through its link indicators, (G1) to (G4), by the lanes of one
// tile. Read `redraw_node`: it has the steps of samplers/scir/indicators/redraw.py in the same order.
struct Chunk {
    int links;          // how many of the lanes have one
    int neighbor;       // of this lane's link
    double first, again;  // its uniforms, for (G1) and (G3)
};

// The links number begin, begin + 1, ... of a pass, one a lane; link number s is s or, backwards, degree - 1 - s.
DEVICE Chunk chunk_of(const Node &node, int begin, bool backwards, const Frame &f) {
    int step = begin + lane(), link = backwards ? node.degree - 1 - step : step;
    Chunk chunk = {node.degree - begin < TILE ? node.degree - begin : TILE, 0, 0.0, 0.0};
    if (step < node.degree) {
        chunk.neighbor = f.neighbors[node.begin + link];
        Words words = words_of(node.name, DRAW_LINK, 0, link & ~1, key_of(f));
        chunk.first = uniform32(link & 1 ? words.z : words.x);
        chunk.again = uniform32(link & 1 ? words.w : words.y);
    }
    return chunk;
}

// This lane's slot of the row of the neighbour that lane `source` has.
DEVICE Slot slot_of(const Chunk &chunk, int source, const Frame &f) {
    int neighbor = from_lane(chunk.neighbor, source < chunk.links ? source : 0);
    return load_slot(f.rows, neighbor);
}

// Run what follows for every link of a pass: `step` counts them, `row` is the neighbour's row, and lane `source` of
// `chunk` has its uniforms. Three rows are asked for before the first of them is used.
#define FOR_LINKS(node, backwards, f, ...)                                                                    \
    for (int begin = 0; begin < (node).degree; begin += TILE) {                                               \
        Chunk chunk = chunk_of(node, begin, backwards, f);                                                    \
        Slot next = slot_of(chunk, 0, f), second = slot_of(chunk, 1, f), third = slot_of(chunk, 2, f);        \
        for (int source = 0; source < chunk.links; source++) {                                                \
            Row row = row_of(next);                                                                           \
            int step = begin + source;                                                                        \
            next = second;                                                                                    \
            second = third;                                                                                   \
            third = slot_of(chunk, source + 3, f);                                                            \
            __VA_ARGS__                                                                                       \
        }                                                                                                     \
    }

// Copy the node's slots to the lists, which are empty; returns how many there are.
DEVICE int load_row(const Row &row, const Frame &f, Lists &lists) {
    for (int at = lane(); at <= lists.mask; at += TILE) lists.table[at] = -1;
    for (int at = lane(); at < FILTER_WORDS; at += TILE) lists.filter[at] = 0;
    sync_tile();
    if (lane() < row.used) {
        append(row.community, lane(), f.value[row.community] - background_of(f), lists);
        lists.pi[lane()] = row.weight;
        lists.gain[lane()] = 0.0;
    }
    sync_tile();
    return row.used;
}

// Take in the communities in which a neighbour has weight, in the order of its slots; returns the new local count.
DEVICE int list_neighbor(const Row &row, int at, int count, const Frame &f, Lists &lists) {
    u32 small = votes_of(!(row.weight > fmax(LEAST_LISTED, f.cut)));
    bool listed = lane() < (small ? first_of(small) : TILE);
    u32 fresh = votes_of(listed && at < 0);
    if (fresh) {
        if (count + count_of(fresh) > lists.capacity) return -1;
        if (listed && at < 0) {
            at = count + count_of(fresh & ((1u << lane()) - 1u));
            append(row.community, at, f.value[row.community] - background_of(f), lists);
        }
        count += count_of(fresh);
    }
    if (listed) lists.tilt[at] += row.weight;
    return count;
}

// List the communities of the neighbours, and draw every z_ab given pi_a (G1); returns the local count, -1 if full.
DEVICE int draw_links(const Node &node, int own, double own_up_to, const Frame &f, Lists &lists) {
    int count = own;
    FOR_LINKS(node, false, f, {
        sync_tile();
        int at = row.community >= 0 ? find(row.community, lists) : -1;
        double uniform = from_lane(chunk.first, source);
        set_indicator(step, draw_link(node, step, uniform, own, own_up_to, row, at, f, lists), lists);
        sync_tile();
        count = list_neighbor(row, at, count, f, lists);
        if (count < 0) return -1;
    })
    sync_tile();
    return count;
}

DEVICE void add_row(const Row &row, Lists &lists) {
    if (row.community < 0) return;
    int at = find(row.community, lists);
    if (at >= 0) {
        lists.rest[at] += row.weight;
        lists.squares[at] += row.weight * row.weight;
    } else {
        mark_seen(row.community, lists);
    }
}

// Sum what neighbours and held-out partners weigh in the local communities.
DEVICE void read_neighbors(const Node &node, const Frame &f, Lists &lists) {
    FOR_LINKS(node, false, f, {
        sync_tile();
        add_row(row, lists);
    })
    for (i64 i = f.hidden_offsets[node.place]; i < f.hidden_offsets[node.place + 1]; i++) {
        Row row = row_of(load_slot(f.rows, f.hidden_neighbors[i]));
        sync_tile();
        add_row(row, lists);
    }
    sync_tile();
}

// (G3) One pass of Gibbs draws of the z_ab with pi_a integrated out; returns the new local count, -1 if full.
DEVICE int draw_links_again(const Node &node, int count, bool backwards, const Frame &f, const Tilt &tilt,
                            Lists &lists) {
    double background = background_of(f), bulk = node.alpha * (double)f.communities / tilt.least, known = 0.0;
    for (int link = lane(); link < node.degree; link += TILE) add_count(&lists.count[indicator_of(link, lists)], 1);
    sync_tile();
    for (int at = lane(); at < count; at += TILE) known += lists.count[at] * lists.inverse[at];
    known = sum_of_lanes(known);
    FOR_LINKS(node, backwards, f, {
        int link = backwards ? node.degree - 1 - step : step, old = indicator_of(link, lists);
        known -= lists.inverse[old];
        sync_tile();
        if (lane() == 0) lists.count[old] -= 1;
        sync_tile();
        int at = row.community >= 0 ? find(row.community, lists) : -1;
        double part = shared_part(at, row.weight, node.alpha, lists), up_to = sum_up_to_lane(part);
        double shared = from_lane(up_to, TILE - 1);
        double pull = unlisted_pull(row, at, f), unlisted = 0.0;
        if (votes_of(pull > 0.0)) unlisted = sum_of_lanes(pull) * node.alpha / tilt.least;
        double u = from_lane(chunk.again, source) * (shared + unlisted + background * (known + bulk));
        int chosen;
        if (u < shared) {
            chosen = from_lane(at, lane_at(u, part, up_to));
        } else {
            Draw draw = draw_unshared(node, link, u, known, count, row, f, tilt, lists);
            if (draw.full) return -1;
            chosen = draw.chosen;
            count = draw.count;
        }
        known += lists.inverse[chosen];
        set_indicator(link, chosen, lists);
        if (lane() == 0) lists.count[chosen] += 1;
        sync_tile();
    })
    return count;
}

// (G4) Draw phi_k ~ Gamma(alpha + n_k)/lambda_k where k has links.
DEVICE void draw_sizes(const Node &node, int count, const Frame &f, Lists &lists) {
    Key key = key_of(f);
    for (int at = lane(); at < count; at += TILE) {
        double phi = 0.0;
        if (lists.count[at] > 0) {
            u32 word = (u32)DRAW_SIZE << 16 | (at & 0xffff), block = (u32)(at >> 16) << 16;
            phi = gamma_variate(node.alpha + lists.count[at], node.name, word, block, key) * lists.inverse[at];
        }
        lists.phi[at] = phi;
    }
    sync_tile();
}

// (G4) Draw phi_k ~ Gamma(alpha)/lambda_k where k has no links, down to the smallest; returns the local count.
DEVICE int draw_births(const Node &node, int count, const Frame &f, const Tilt &tilt, Lists &lists) {
    Key key = key_of(f);
    Envelope envelope = jump_envelope(node.smallest * tilt.least);
    double expected = (double)f.communities * node.alpha * (envelope.near + envelope.far);
    double births = poisson_variate(expected, node.name, (u32)DRAW_BIRTHS << 16, key);
    for (int i = 0; i < (births < MAX_BIRTHS ? (int)births : MAX_BIRTHS); i++) {
        Words words = words_of(node.name, DRAW_BIRTH_SIZE, i, 0, key);
        int k = (int)((u64)words.x * (u64)f.communities >> 32), at = find(k, lists);
        if (at >= 0 && lists.count[at] > 0) continue;
        double size = propose_jump(uniform53(words.y, words.z), envelope), u = uniform32(words.w);
        if (at >= 0) {
            sync_tile();
            if (lane() == 0 && u < keep_probability(size, lists.tilt[at] / tilt.least, envelope))
                lists.phi[at] += size / tilt.least;
            sync_tile();
            continue;
        }
        Outsider found = outsider(node, k, f, tilt, lists);
        if (u < keep_probability(size, found.tilt / tilt.least, envelope)) {
            if (count >= lists.capacity) return -1;
            add_outsider(k, count, found, lists);
            if (lane() == 0) lists.phi[count] = size / tilt.least;
            count++;
            sync_tile();
        }
    }
    return count;
}

// (G4) The same wherever k has no links, with nothing cut off: for rows that hold all communities.
DEVICE int draw_everywhere(const Node &node, int count, const Frame &f, const Tilt &tilt, Lists &lists) {
    for (int k = 0; k < (int)f.communities; k++) {
        int at = find(k, lists);
        if (at < 0) {
            at = count++;
            add_outsider(k, at, outsider(node, k, f, tilt, lists), lists);
        }
        sync_tile();
        if (lane() == 0 && lists.count[at] == 0)
            lists.phi[at] = gamma_variate(node.alpha, node.name, (u32)DRAW_BIRTH_SIZE << 16 | k, 0, key_of(f)) *
                            lists.inverse[at];
        sync_tile();
    }
    return count;
}

// (G4) Accept the new phi with probability min(1, e^gain), or put the old ones back.
DEVICE bool accept_or_restore(int count, const Row &row, double old_total, double u, const Frame &f, const Tilt &tilt,
                              Lists &lists) {
    double total = 0.0;
    for (int at = lane(); at < count; at += TILE) total += lists.phi[at];
    total = sum_of_lanes(total);
    if (total > 0.0 && gain_of(count, row.used, total, f, tilt, lists) > log(u)) return true;
    for (int at = lane(); at < count; at += TILE) lists.phi[at] = at < row.used ? lists.pi[at] * old_total : 0.0;
    sync_tile();
    return false;
}

struct Kept { int count, community; double phi, total, dropped; };

// (P3) The largest phi, at most SLOTS of them and none below the smallest but the first: one a lane, in order.
DEVICE Kept keep_largest(int count, const Node &node, Lists &lists) {
    Kept kept = {0, -1, 0.0, 0.0, 0.0};
    while (kept.count < SLOTS) {
        double best = -1.0;
        int best_at = 0x7fffffff;
        for (int at = lane(); at < count; at += TILE)
            if (lists.phi[at] > best) { best = lists.phi[at]; best_at = at; }
#pragma unroll
        for (int distance = TILE / 2; distance > 0; distance /= 2) {
            double other = from_opposite(best, distance);
            int other_at = from_opposite(best_at, distance);
            if (other > best || (other == best && other_at < best_at)) { best = other; best_at = other_at; }
        }
        if (best < 0.0 || (best < node.smallest && kept.count > 0)) break;
        double phi = kept.count == 0 ? fmax(best, node.smallest) : best;
        if (lane() == kept.count) { kept.phi = phi; kept.community = lists.community[best_at]; }
        kept.total += phi;
        kept.count++;
        sync_tile();
        if (lane() == 0) lists.phi[best_at] = -1.0;
        sync_tile();
    }
    for (int at = lane(); at < count; at += TILE) kept.dropped += fmax(lists.phi[at], 0.0);
    kept.dropped = sum_of_lanes(kept.dropped);
    return kept;
}

DEVICE i64 fixed(double value) { return (i64)(value * FIXED_POINT); }

// (S6) Add the node's half of the pairs inside each of its communities, and take its memberships out of the sums;
// returns its links.
DEVICE double gather_statistics(const Row &row, const Frame &f, const Lists &lists) {
    double links = 0.0;
    if (lane() < row.used) {
        int at = lane();
        i64 k = row.community;
        double pi = row.weight, free = 1.0 - background_of(f), rest = lists.rest[at];
        double squares = fmax(lists.squares[at], LEAST_SQUARES * rest);
        links = 0.5 * pi * f.value[k] * lists.gain[at];
        add_to(&f.change[2 * k], -fixed(pi));
        add_to(&f.change[2 * k + 1], -fixed(pi * pi));
        add_to(&f.pairs[2 * k], fixed(links));
        add_to(&f.pairs[2 * k + 1], fixed(0.5 * pi * resummed_exposure(rest, squares, lists.excess[at] * pi, free)));
    }
    return sum_of_lanes(links);
}

// Store the new memberships and add them to the sums over nodes; returns the total as stored.
DEVICE double write_row(const Node &node, const Kept &kept, const Frame &f) {
    i64 at = (node.place - f.first) / f.stride;
    float total = (float)kept.total, pi = (float)(kept.phi / kept.total);
    if (lane() < SLOTS) {
        Slot slot = {lane() < kept.count ? kept.community : -1, lane() < kept.count ? pi : 0.0f};
        f.fresh[at * SLOTS + lane()] = slot;
    }
    if (lane() == 0) f.fresh_total[at] = total;
    if (lane() < kept.count) {
        add_to(&f.change[2 * (i64)kept.community], fixed((double)pi));
        add_to(&f.change[2 * (i64)kept.community + 1], fixed((double)pi * (double)pi));
    }
    return (double)total;
}

struct Measured { i64 inside, dropped, accepted; };

// Draw the node's memberships into its fresh row. Returns false where the lists are full: nothing is written then.
DEVICE bool redraw_node(const Node &node, const Frame &f, Lists &lists, Measured &measured) {
    Row row = row_of(load_slot(f.rows, node.place));
    double old_total = (double)f.total[node.place], own_up_to = sum_up_to_lane(row.weight);
    int own = load_row(row, f, lists);
    int count = draw_links(node, own, own_up_to, f, lists);
    if (count < 0) return false;
    read_neighbors(node, f, lists);
    // The tilts need the sums over neighbours, and the old memberships.
    Tilt tilt = set_tilts(node, own, count, f, lists);
    Words words = words_of(node.name, DRAW_TEST, 0, 0, key_of(f));
    count = draw_links_again(node, count, words.x & 1u, f, tilt, lists);
    if (count < 0) return false;
    draw_sizes(node, count, f, lists);
    bool everywhere = node.smallest <= EVERYWHERE && f.communities <= SLOTS;
    count = everywhere ? draw_everywhere(node, count, f, tilt, lists) : draw_births(node, count, f, tilt, lists);
    if (count < 0) return false;
    bool accepted = accept_or_restore(count, row, old_total, uniform32(words.y), f, tilt, lists);
    Kept kept = keep_largest(count, node, lists);
    double inside = gather_statistics(row, f, lists), total = write_row(node, kept, f);
    measured.inside += fixed(inside);
    measured.dropped += fixed(kept.dropped / (kept.dropped + total));
    measured.accepted += accepted ? (i64)FIXED_POINT : 0;
    return true;
}

// The work space of a tile: `capacity` communities and the indicators of `links` links.
DEVICE Lists lists_in(char *memory, int capacity, int table, int links, bool largest) {
    double *d = (double *)memory;
    int *i = (int *)(d + 6 * (i64)capacity + 2 * TILE);
    Lists lists;
    lists.capacity = capacity;
    lists.most = largest ? capacity - MAX_BIRTHS : capacity;
    lists.mask = table - 1;
    lists.largest = largest;
    lists.rest = d;
    lists.squares = d + capacity;
    lists.tilt = d + 2 * (i64)capacity;
    lists.excess = d + 3 * (i64)capacity;
    lists.inverse = d + 4 * (i64)capacity;
    lists.phi = d + 5 * (i64)capacity;
    lists.gain = d + 6 * (i64)capacity;
    lists.pi = lists.gain + TILE;
    lists.table = i;
    lists.community = i + table;
    lists.count = lists.community + capacity;
    lists.filter = (u32 *)(lists.count + capacity);
    int *rest = (int *)(lists.filter + FILTER_WORDS);
    lists.indicator = largest ? rest : (int *)0;
    lists.short_indicator = (unsigned short *)rest;
    return lists;
}

// How a kernel of nodes is started: lists of what size, where they are, and which nodes are handed on when they are full.
struct Work {
    const int *order; const i64 *count; i64 *next; i64 grab;
    int *left; i64 *left_count;
    char *scratch;      // of the largest lists; the others are in shared memory
    i64 bytes, capacity, table, links, largest;
};

// Redraw nodes until none is left.
DEVICE void redraw_nodes(const Frame &f, const Work &w, Lists lists, int links) {
    Measured measured = {0, 0, 0};
    i64 nodes = *w.count;
    while (true) {
        i64 begin = lane() == 0 ? take(w.next, w.grab) : 0;
        begin = from_lane(begin, 0);
        if (begin >= nodes) break;
        for (i64 i = begin; i < begin + w.grab && i < nodes; i++) {
            Node node = node_at(w.order[i], f);
            bool done = node.degree <= links && redraw_node(node, f, lists, measured);
            sync_tile();
            if (!done && lane() == 0) w.left[take(w.left_count, 1)] = (int)node.place;
        }
    }
    if (lane() == 0) {
        add_to(&f.measured[0], measured.inside);
        add_to(&f.measured[1], measured.dropped);
        add_to(&f.measured[2], measured.accepted);
    }
}

// With lists of any size.
KERNEL redraw(const Frame *frame, const Work *work) {
    const Frame f = copy_of(frame);
    const Work w = *work;
    char *memory = w.largest ? w.scratch + (thread_number() / TILE) * w.bytes : shared_memory() + tile_in_block() * w.bytes;
    redraw_nodes(f, w, lists_in(memory, (int)w.capacity, (int)w.table, (int)w.links, w.largest != 0), (int)w.links);
}

// With the smallest lists, whose size the compiler knows: most nodes.
KERNEL LIGHT_BOUNDS redraw_light(const Frame *frame, const Work *work) {
    const Frame f = copy_of(frame);
    const Work w = *work;
    char *memory = shared_memory() + tile_in_block() * LIGHT_BYTES;
    redraw_nodes(f, w, lists_in(memory, LIGHT_CAPACITY, LIGHT_TABLE, LIGHT_LINKS, false), LIGHT_LINKS);
}

// Copy the new rows of a batch into the table.
KERNEL commit(const Frame *frame) {
    const Frame &f = *frame;
    i64 count = (f.nodes - f.first + f.stride - 1) / f.stride;
    for (i64 i = thread_number(); i < count * SLOTS; i += threads_in_all()) {
        i64 node = i / SLOTS, slot = i % SLOTS, place = f.first + node * f.stride;
        f.rows[place * SLOTS + slot] = f.fresh[i];
        if (slot == 0) f.total[place] = f.fresh_total[node];
    }
}

// Add what a batch changed to S_k and Q_k.
KERNEL merge(const Frame *frame) {
    const Frame &f = *frame;
    for (i64 i = thread_number(); i < 2 * f.communities; i += threads_in_all()) {
        f.sums[i] += f.change[i];
        f.change[i] = 0;
    }
}
