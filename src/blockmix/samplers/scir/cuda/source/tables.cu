// What is stored of a chain: running means and variances (tables/running.py), packed posterior samples
// (tables/packed.py), predictions of pairs (tables/predictor.py). One thread a node or pair.
// Of the running table entry i of all nodes comes before entry i + 1, so that threads read side by side.
struct Running {
    int *community; float *mean; float *deviation; float *lost;
    i64 entries;
    double samples;
};

DEVICE void add_weight(i64 a, int k, double pi, const Running &r, i64 nodes) {
    i64 smallest = a;
    float least = r.mean[a];
    for (i64 i = 0; i < r.entries; i++) {
        i64 at = i * nodes + a;
        int known = r.community[at];
        if (known == k || known < 0) {
            double faded = known == k ? (double)r.mean[at] : 0.0;
            double old = r.samples > 1.0 ? faded * r.samples / (r.samples - 1.0) : 0.0, mean = faded + pi / r.samples;
            r.deviation[at] = (float)((double)r.deviation[at] + (pi - old) * (pi - mean) - old * faded);
            r.mean[at] = (float)mean;
            r.community[at] = k;
            return;
        }
        if (r.mean[at] < least) { least = r.mean[at]; smallest = at; }
    }
    double mean = pi / r.samples;
    if (mean <= (double)least) { r.lost[a] = (float)((double)r.lost[a] + mean); return; }
    r.lost[a] += least;
    r.community[smallest] = k;
    r.mean[smallest] = (float)mean;
    r.deviation[smallest] = (float)(pi * (pi - mean));
}

KERNEL add_sample(const Frame *frame, const Running *running) {
    const Frame &f = *frame;
    const Running r = *running;
    for (i64 a = thread_number(); a < f.nodes; a += threads_in_all()) {
        for (i64 i = 0; i < r.entries; i++) {
            i64 at = i * f.nodes + a;
            if (r.community[at] < 0) break;
            double mean = (double)r.mean[at];
            r.mean[at] = (float)(mean - mean / r.samples);
            r.deviation[at] = (float)((double)r.deviation[at] + mean * (mean - mean / r.samples));
        }
        r.lost[a] = (float)((double)r.lost[a] - (double)r.lost[a] / r.samples);
        for (int j = 0; j < SLOTS; j++) {
            Slot slot = f.rows[a * SLOTS + j];
            if (slot.community < 0) break;
            add_weight(a, slot.community, (double)slot.weight, r, f.nodes);
        }
    }
}

// Welford's rule for the strengths.
KERNEL add_strengths(const Frame *frame, double samples, double *mean, double *deviation) {
    const Frame &f = *frame;
    for (i64 k = thread_number(); k <= f.communities; k += threads_in_all()) {
        double change = f.value[k] - mean[k];
        mean[k] += change / samples;
        deviation[k] += change * (f.value[k] - mean[k]);
    }
}

KERNEL count_used(const Frame *frame, double least, unsigned char *counts) {
    const Frame &f = *frame;
    for (i64 a = thread_number(); a < f.nodes; a += threads_in_all()) {
        int used = 0;
        for (int j = 0; j < SLOTS; j++) {
            Slot slot = f.rows[a * SLOTS + j];
            if (slot.community < 0) break;
            used += (double)slot.weight >= least;
        }
        counts[a] = (unsigned char)used;
    }
}

// Write the slots that `count_used` counted; row a ends at ends[a]. Numbers are 16 or 32 bits wide.
KERNEL pack(const Frame *frame, double least, double scale, const i64 *ends, const unsigned char *counts,
            void *numbers, unsigned short *weights, i64 bytes) {
    const Frame &f = *frame;
    for (i64 a = thread_number(); a < f.nodes; a += threads_in_all()) {
        i64 at = ends[a] - counts[a];
        for (int j = 0; j < SLOTS; j++) {
            Slot slot = f.rows[a * SLOTS + j];
            if (slot.community < 0) break;
            if (!((double)slot.weight >= least)) continue;
            if (bytes == 4) ((u32 *)numbers)[at] = (u32)slot.community;
            else ((unsigned short *)numbers)[at] = (unsigned short)slot.community;
            weights[at++] = (unsigned short)fmax(1.0, rint((double)slot.weight * scale));
        }
    }
}

// Sum the memberships of nodes without links, and their squares, for the row that is pooled of them; fixed point.
KERNEL pool_rows(const Frame *frame, i64 *sums) {
    const Frame &f = *frame;
    for (i64 a = thread_number(); a < f.nodes; a += threads_in_all()) {
        if (f.offsets[a + 1] > f.offsets[a]) continue;
        for (int j = 0; j < SLOTS; j++) {
            Slot slot = f.rows[a * SLOTS + j];
            if (slot.community < 0) break;
            double pi = (double)slot.weight;
            add_to(&sums[2 * (i64)slot.community], (i64)(pi * FIXED_POINT));
            add_to(&sums[2 * (i64)slot.community + 1], (i64)(pi * pi * FIXED_POINT));
        }
    }
}

// u_k of the pooled row, and each community's part of the mean over pairs of different nodes.
KERNEL pooled_slopes(const Frame *frame, const i64 *sums, double isolated, double *slopes, double *products) {
    const Frame &f = *frame;
    for (i64 k = thread_number(); k < f.communities; k += threads_in_all()) {
        double d = f.value[k] - f.value[f.communities];
        double sum = (double)sums[2 * k] / FIXED_POINT, squares = (double)sums[2 * k + 1] / FIXED_POINT;
        slopes[k] = d * sum / isolated;
        products[k] = d * (sum * sum - squares) / (isolated * (isolated - 1.0));
    }
}

// (M1) Set out = keep * out + share * probability for every pair.
KERNEL forecast(const Frame *frame, const i64 *pairs, i64 count, const double *slopes, const double *between,
                double keep, double share, double *out) {
    const Frame &f = *frame;
    double background = f.value[f.communities];
    for (i64 i = thread_number(); i < count; i += threads_in_all()) {
        i64 a = pairs[2 * i], b = pairs[2 * i + 1];
        bool lone_a = f.offsets[a + 1] == f.offsets[a], lone_b = f.offsets[b + 1] == f.offsets[b];
        if (lone_b) { i64 other = a; a = b; b = other; }
        double shared = 0.0;
        for (int j = 0; j < SLOTS && !(lone_a && lone_b); j++) {
            Slot slot = f.rows[b * SLOTS + j];
            if (slot.community < 0) break;
            if (lone_a || lone_b) { shared += slopes[slot.community] * (double)slot.weight; continue; }
            for (int other = 0; other < SLOTS; other++) {
                Slot seen = f.rows[a * SLOTS + other];
                if (seen.community < 0) break;
                if (seen.community == slot.community)
                    shared += (f.value[slot.community] - background) * (double)seen.weight * (double)slot.weight;
            }
        }
        double probability = background + (lone_a && lone_b ? *between : shared);
        out[i] = keep * out[i] + share * probability;
    }
}
