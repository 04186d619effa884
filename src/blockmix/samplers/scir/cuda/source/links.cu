// The communities of a node's links, (G1) and (G3): samplers/scir/indicators/links.py and unshared.py. A row of a
// neighbour is in the lanes of the tile; `at` is where a lane's community is in the local lists, or -1.
DEVICE double shared_part(int at, double weight, double alpha, const Lists &lists) {
    if (at < 0) return 0.0;
    return (lists.count[at] + alpha) * lists.inverse[at] * fmax(lists.excess[at], 0.0) * weight;
}

DEVICE double unlisted_pull(const Row &row, int at, const Frame &f) {
    if (row.community < 0 || at >= 0 || !(row.weight > f.cut)) return 0.0;
    return fmax(f.value[row.community] - background_of(f), 0.0) * row.weight;
}

// The position in the node's own row on which v falls, of a line of length one.
DEVICE int walk_row(double v, int own, double up_to) {
    u32 found = votes_of(lane() < own && v < up_to);
    return found ? first_of(found) : own - 1;
}

// Thin the background's part of the mixture where a strength is below it.
DEVICE bool is_kept(const Node &node, int link, int chosen, int attempt, const Row &row, int at, const Frame &f,
                    const Lists &lists) {
    double excess = lists.excess[chosen];
    if (excess >= 0.0) return true;
    u32 found = votes_of(at == chosen);
    if (!found) return true;
    double weight = from_lane(row.weight, first_of(found));
    Words words = words_of(node.name, DRAW_KEEP, attempt, link, key_of(f));
    return uniform32(words.z) < 1.0 + excess * weight / background_of(f);
}

// (G1) Draw one z_ab given pi_a where some strength is below the background.
DEVICE int draw_thinned(const Node &node, int link, int own, double own_up_to, const Row &row, int at, const Frame &f,
                        const Lists &lists) {
    double background = background_of(f);
    double part = at >= 0 && at < own ? fmax(lists.excess[at], 0.0) * row.weight * lists.pi[at] : 0.0;
    double up_to = sum_up_to_lane(part), positive = from_lane(up_to, TILE - 1);
    int chosen = 0;
    for (int attempt = 1; attempt < MOST_ATTEMPTS; attempt++) {
        Words words = words_of(node.name, DRAW_LINK, attempt, link, key_of(f));
        double u = uniform32(words.x) * (positive + background);
        if (u < positive) return from_lane(at, lane_at(u, part, up_to));
        chosen = walk_row(uniform32(words.y), own, own_up_to);
        if (is_kept(node, link, chosen, attempt, row, at, f, lists)) break;
    }
    return chosen;
}

// (G1) Draw z_ab given pi_a, and add pi_bk/Z_ab to the gains of the node's own communities.
DEVICE int draw_link(const Node &node, int link, double uniform, int own, double own_up_to, const Row &row, int at,
                     const Frame &f, Lists &lists) {
    double background = background_of(f);
    bool is_own = at >= 0 && at < own;
    double part = is_own ? lists.excess[at] * row.weight * lists.pi[at] : 0.0;
    double up_to = sum_up_to_lane(part), shared = from_lane(up_to, TILE - 1);
    if (is_own) lists.gain[at] += 1.0 / (background + shared) * row.weight;
    if (votes_of(part < 0.0)) return draw_thinned(node, link, own, own_up_to, row, at, f, lists);
    double u = uniform * (shared + background);
    if (u < shared) return from_lane(at, lane_at(u, part, up_to));
    return walk_row((u - shared) / background, own, own_up_to);
}

// The position on which v falls among those of the other links, each with weight n_k/lambda_k.
DEVICE int walk_counts(double v, int count, const Lists &lists) {
    int chosen = -1;
    for (int begin = 0; begin < count; begin += TILE) {
        int at = begin + lane();
        double part = at < count && lists.count[at] > 0 ? lists.count[at] * lists.inverse[at] : 0.0;
        double up_to = sum_up_to_lane(part);
        u32 any = votes_of(part > 0.0), found = votes_of(part > 0.0 && v < up_to);
        if (found) return begin + first_of(found);
        if (any) chosen = begin + last_of(any);
        v -= from_lane(up_to, TILE - 1);
    }
    return chosen;
}

// Where a tile's lists are full: light nodes are handed on to larger lists, and of the largest a draw is made again.
struct Draw { int chosen, count; bool full; };

// Propose a community of the neighbour's that is not in the lists: weight alpha/lambda_k d_k pi_bk for each.
DEVICE Draw draw_from_neighbor(const Node &node, double v, double pull, int count, const Row &row, const Frame &f,
                               const Tilt &tilt, Lists &lists) {
    double up_to = sum_up_to_lane(pull);
    u32 votes = votes_of(pull > 0.0 && v < up_to);
    if (!votes) return {-1, count, false};
    int source = first_of(votes), k = from_lane(row.community, source);
    double weight = from_lane(pull, source);
    v -= from_lane(up_to, source) - weight;
    Outsider found = outsider(node, k, f, tilt, lists);
    if (v * found.tilt >= weight * tilt.least) return {-1, count, false};
    if (count >= lists.most) return {-1, count, true};
    add_outsider(k, count, found, lists);
    return {count, count + 1, false};
}

// Propose a community of the prior's for a link that the background explains: weight 1/lambda_k for every k.
DEVICE Draw draw_from_bulk(const Node &node, int link, int attempt, int count, const Frame &f, const Tilt &tilt,
                           Lists &lists) {
    Words words = words_of(node.name, DRAW_RETRY, attempt, link, key_of(f));
    int k = (int)((u64)words.x * (u64)f.communities >> 32);
    double u = uniform32(words.y);
    int at = find(k, lists);
    if (at >= 0) return {u * lists.tilt[at] < tilt.least ? at : -1, count, false};
    Outsider found = outsider(node, k, f, tilt, lists);
    if (u * found.tilt >= tilt.least) return {-1, count, false};
    if (count >= lists.most) return {-1, count, true};
    add_outsider(k, count, found, lists);
    return {count, count + 1, false};
}

// (G3) Draw one z_ab with pi_a integrated out, at u on the line of all weights. A rejection sends the whole draw back
// to the start.
DEVICE Draw draw_unshared(const Node &node, int link, double u, double known, int count, const Row &row, const Frame &f,
                          const Tilt &tilt, Lists &lists) {
    double background = background_of(f), bulk = node.alpha * (double)f.communities / tilt.least;
    for (int attempt = 1; attempt < MOST_ATTEMPTS; attempt++) {
        int at = row.community >= 0 ? find(row.community, lists) : -1;
        double part = shared_part(at, row.weight, node.alpha, lists), up_to = sum_up_to_lane(part);
        double shared = from_lane(up_to, TILE - 1), pull = unlisted_pull(row, at, f);
        double unlisted = sum_of_lanes(pull) * node.alpha / tilt.least;
        if (attempt > 1) {
            Words words = words_of(node.name, DRAW_LINK, attempt + MOST_ATTEMPTS, link, key_of(f));
            u = uniform32(words.x) * (shared + unlisted + background * (known + bulk));
        }
        if (u < shared) return {from_lane(at, lane_at(u, part, up_to)), count, false};
        Draw draw;
        if (u < shared + unlisted) {
            draw = draw_from_neighbor(node, (u - shared) * tilt.least / node.alpha, pull, count, row, f, tilt, lists);
            if (draw.chosen >= 0) return draw;
        } else {
            double v = (u - shared - unlisted) / background;
            draw = {-1, count, false};
            if (v < known) draw.chosen = walk_counts(v, count, lists);
            else draw = draw_from_bulk(node, link, attempt, count, f, tilt, lists);
        }
        if (draw.full && !lists.largest) return draw;
        count = draw.count;
        if (draw.chosen >= 0) {
            at = row.community >= 0 ? find(row.community, lists) : -1;
            if (is_kept(node, link, draw.chosen, attempt + MOST_ATTEMPTS, row, at, f, lists)) {
                draw.full = false;
                return draw;
            }
        }
    }
    return {indicator_of(link, lists), count, false};
}
