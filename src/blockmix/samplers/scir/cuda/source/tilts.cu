// Non-links in the link-indicator move, (G2), (G4) and (S5): samplers/scir/indicators/tilts.py.
struct Tilt { double typical, mass, least, weight; };
struct Outsider { double excess, rest, squares, tilt; };

// (S5) The sum and the product of the two weights t that stand for all members; `share` is R2/R.
struct Points { double both, product; };
DEVICE Points two_points(double share) {
    double twice = 1.0 + 2.0 * share;
    return {4.0 * share / twice, 2.0 * share * share / ((1.0 + share) * twice)};
}

// (S5) Sum pi_bk/Z_ab over non-neighbours, on one denominator.
DEVICE double resummed_exposure(double rest, double squares, double d, double free) {
    if (rest <= TINY) return 0.0;
    double share = squares / rest;
    Points t = two_points(share);
    double numerator = free - d * (t.both - share);
    return rest * numerator / fmax(free * free - d * (t.both * free - d * t.product), LEAST_DENOMINATOR);
}

// R_k and R2_k of (S5), from what neighbours weigh in k.
DEVICE void rest_of(int k, double pi, double near, double near_squared, const Frame &f, double &rest, double &squares) {
    rest = (double)f.sums[2 * (i64)k] / FIXED_POINT - pi - near;
    squares = 0.0;
    if (rest <= LEAST_REST) { rest = 0.0; return; }
    squares = fmin(fmax((double)f.sums[2 * (i64)k + 1] / FIXED_POINT - pi * pi - near_squared, 0.0), rest);
}

DEVICE double tilt_of(double d, double rest, double free, const Tilt &tilt) {
    double x = tilt.weight * fmax(d, 0.0) * rest / free;
    return fmax(1.0 + (x - tilt.typical) / tilt.mass, LEAST_TILT);
}

// (G2) Set rest, squares, lambda_k and its inverse of every local community.
DEVICE Tilt set_tilts(const Node &node, int own, int count, const Frame &f, Lists &lists) {
    double mass = node.degree + (double)f.communities * node.alpha, free = 1.0 - background_of(f);
    double total = 0.0, listed = 0.0;
    for (int at = lane(); at < count; at += TILE) {
        double rest, squares;
        rest_of(lists.community[at], at < own ? lists.pi[at] : 0.0, lists.rest[at], lists.squares[at], f, rest, squares);
        lists.rest[at] = rest;
        lists.squares[at] = squares;
        total += lists.tilt[at] * fmax(lists.excess[at], 0.0) * rest;
        listed += lists.tilt[at];
    }
    total = sum_of_lanes(total);
    listed = sum_of_lanes(listed);
    double typical = listed > 0.0 ? f.weight * total / (free * listed) : 0.0;
    typical = fmin(typical, (1.0 - LEAST_TILT) * mass);
    Tilt tilt = {typical, mass, 1.0 - typical / mass, f.weight};
    for (int at = lane(); at < count; at += TILE) {
        lists.tilt[at] = tilt_of(lists.excess[at], lists.rest[at], free, tilt);
        lists.inverse[at] = 1.0 / lists.tilt[at];
    }
    sync_tile();
    return tilt;
}

// What one node's row weighs in community k, all lanes at once.
DEVICE void add_near(i64 neighbor, int k, const Frame &f, double &near, double &squared) {
    Row row = row_of(load_slot(f.rows, neighbor));
    u32 found = votes_of(row.community == k);
    if (found) {
        double pi = from_lane(row.weight, first_of(found));
        near += pi;
        squared += pi * pi;
    }
}

// A community that is not in the lists; all lanes ask for the same one.
DEVICE Outsider outsider(const Node &node, int k, const Frame &f, const Tilt &tilt, const Lists &lists) {
    double near = 0.0, squared = 0.0;
    if (maybe_seen(k, lists)) {
        for (int i = 0; i < node.degree; i++) add_near(f.neighbors[node.begin + i], k, f, near, squared);
        for (i64 i = f.hidden_offsets[node.place]; i < f.hidden_offsets[node.place + 1]; i++)
            add_near(f.hidden_neighbors[i], k, f, near, squared);
    }
    double background = background_of(f);
    Outsider found;
    found.excess = f.value[k] - background;
    rest_of(k, 0.0, near, squared, f, found.rest, found.squares);
    found.tilt = tilt_of(found.excess, found.rest, 1.0 - background, tilt);
    return found;
}

DEVICE void add_outsider(int k, int at, const Outsider &found, Lists &lists) {
    sync_tile();
    if (lane() == 0) {
        append(k, at, found.excess, lists);
        lists.rest[at] = found.rest;
        lists.squares[at] = found.squares;
        lists.tilt[at] = found.tilt;
        lists.inverse[at] = 1.0 / found.tilt;
    }
    sync_tile();
}

// (G4) One community's part of log T, with v = d_k pi_k/(1 - delta), from the two points t of (S5).
DEVICE double log_of_non_links(double v, double rest, double squares) {
    double share = fmax(squares, LEAST_SQUARES * rest) / rest;
    if (fabs(v) < SERIES_LIMIT) {
        // The moments of the rule follow from its polynomial t^2 - both t + product.
        Points t = two_points(share);
        double second = t.both * share - t.product, third = t.both * second - t.product * share;
        double fourth = t.both * third - t.product * second;
        double powers = share / 2.0 + v * (second / 3.0 + v * (third / 4.0 + v * fourth / 5.0));
        return -rest * v * (1.0 + v * powers);
    }
    double root = sqrt(2.0 / (1.0 + share)), unit = share / (1.0 + 2.0 * share);
    double large = (2.0 + root) * unit, small = (2.0 - root) * unit;
    double weight = (2.0 * share - 1.0 + root) / (2.0 * root);
    double of_large = weight * log(fmax(1.0 - v * large, LEAST_NON_LINK)) / large;
    return rest * (of_large + (1.0 - weight) * log(1.0 - v * small) / small);
}

// (G4) log T and A log(sum lambda_k pi_k), new memberships less old: what a move gains.
DEVICE double gain_of(int count, int own, double total, const Frame &f, const Tilt &tilt, const Lists &lists) {
    double scale = 1.0 / (1.0 - background_of(f)), share = 1.0 / total, logs = 0.0, now = 0.0, old = 0.0;
    for (int at = lane(); at < count; at += TILE) {
        double rest = lists.rest[at], v = lists.excess[at] * scale, squares = lists.squares[at];
        if (lists.phi[at] > 0.0 && rest > 0.0) logs += log_of_non_links(v * (lists.phi[at] * share), rest, squares);
        now += lists.tilt[at] * lists.phi[at] / total;
        if (at < own) {
            if (rest > 0.0) logs -= log_of_non_links(v * lists.pi[at], rest, squares);
            old += lists.tilt[at] * lists.pi[at];
        }
    }
    return tilt.weight * sum_of_lanes(logs) + tilt.mass * log(sum_of_lanes(now) / sum_of_lanes(old));
}
