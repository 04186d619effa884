// The strengths given the rows of all nodes: (S2) and (S6), samplers/scir/diffusion/strengths.py.
struct StrengthMove {
    double link_prior, non_link_prior, background_link_prior, background_non_link_prior;
    double step, adapt, all_links, all_non_links, most_background;
};

DEVICE double cir_step(double phi, double shape, double rate, double step, u32 k, int column, const Key &key) {
    double decay = exp(-0.5 * rate * step), scale = rate / (1.0 - decay), jumps = 0.0;
    if (phi > 0.0)
        jumps = poisson_variate(scale * phi * decay, k, (u32)DRAW_STRENGTH_JUMPS << 16 | column, key);
    return gamma_variate(shape + jumps, k, (u32)DRAW_STRENGTH_SIZE << 16 | column, 0, key) / scale;
}

DEVICE void update_strength(i64 k, double link_prior, double non_link_prior, const StrengthMove &m, const Frame &f) {
    double value = f.value[k], total = f.strength_total[k], pairs = f.links[k] + f.non_links[k];
    if (m.adapt > 0.0) f.expansion[k] = pairs;
    double surplus = f.expansion[k] - pairs, rate = 1.0;
    double shape_1 = link_prior + f.links[k], shape_0 = non_link_prior + f.non_links[k];
    if (surplus > 0.0) {
        shape_1 += surplus * value;
        shape_0 += surplus * (1.0 - value);
    } else {
        rate -= surplus / total;
    }
    double theta_1 = cir_step(total * value, shape_1, rate, m.step, (u32)k, 1, key_of(f));
    double theta_0 = cir_step(total * (1.0 - value), shape_0, rate, m.step, (u32)k, 0, key_of(f));
    double both = theta_1 + theta_0;
    if (both > 0.0) {
        f.strength_total[k] = both;
        f.value[k] = fmin(fmax(theta_1 / both, 1e-12), 1.0 - 1e-12);
    }
}

// Collect the pairs inside each community and draw its strength.
KERNEL draw_strengths(const Frame *frame, const StrengthMove *move) {
    const Frame &f = *frame;
    for (i64 k = thread_number(); k < f.communities; k += threads_in_all()) {
        f.links[k] = (double)f.pairs[2 * k] / FIXED_POINT;
        f.non_links[k] = (1.0 - f.value[k]) * fmax((double)f.pairs[2 * k + 1] / FIXED_POINT, 0.0) * f.weight;
        f.pairs[2 * k] = f.pairs[2 * k + 1] = 0;
        update_strength(k, move->link_prior, move->non_link_prior, *move, f);
    }
}

// Add up values in an order that does not depend on the number of threads: each tile a part of them.
KERNEL sum_parts(const double *values, i64 count, i64 parts, double *sums) {
    for (i64 part = thread_number() / TILE; part < parts; part += threads_in_all() / TILE) {
        double sum = 0.0;
        for (i64 i = count * part / parts + lane(); i < count * (part + 1) / parts; i += TILE) sum += values[i];
        sum = sum_of_lanes(sum);
        if (lane() == 0) sums[part] = sum;
    }
}

// What is left of all pairs is the background's; it is drawn last, where it is learned.
KERNEL draw_background(const Frame *frame, const StrengthMove *move, const double *inside_non_links) {
    const Frame &f = *frame;
    i64 k = f.communities;
    if (thread_number() > 0) return;
    f.links[k] = fmax(move->all_links - (double)f.measured[0] / FIXED_POINT, 0.0);
    f.non_links[k] = fmax(move->all_non_links - *inside_non_links, 0.0);
    update_strength(k, move->background_link_prior, move->background_non_link_prior, *move, f);
    f.value[k] = fmin(f.value[k], move->most_background);
}

// (Q3) Count the components that are not small, and add up log(pi/c) of them; c is a constant over the degree.
KERNEL large_components(const Frame *frame, double truncated, double largest_small, i64 *sums) {
    const Frame &f = *frame;
    i64 kept = 0, excess = 0;
    for (i64 a = thread_number(); a < f.nodes; a += threads_in_all()) {
        i64 degree = f.offsets[a + 1] - f.offsets[a];
        double small = degree > 0 ? truncated / (double)degree : 1.0;
        if (small > largest_small) continue;
        for (int j = 0; j < SLOTS; j++) {
            Slot slot = f.rows[a * SLOTS + j];
            if (slot.community < 0) break;
            double pi = (double)slot.weight;
            if (pi >= small) {
                kept++;
                excess += (i64)(log(pi / small) * FIXED_POINT);
            }
        }
    }
    add_to(&sums[0], kept);
    add_to(&sums[1], excess);
}
