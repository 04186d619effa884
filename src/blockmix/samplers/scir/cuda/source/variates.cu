// Random numbers: Philox4x32-10 and the variates of numerics/variates.py, operation by operation, so that a draw
// differs from that of the CPU only where the last bit of log or exp decides it.
struct Words { u32 x, y, z, w; };
struct Key { u32 low, high, sweep; };

DEVICE Words philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1) {
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u32 high0 = high_product(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        u32 high1 = high_product(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0; c2 = high0 ^ c3 ^ k1; c1 = low1; c3 = low0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    return {c0, c1, c2, c3};
}

DEVICE Words words_of(u32 name, int purpose, u32 slot, u32 block, const Key &key) {
    return philox(name, key.sweep, (u32)purpose << 16 | (slot & 0xffffu), block, key.low, key.high);
}

DEVICE double uniform32(u32 word) { return ((double)word + 0.5) * (1.0 / 4294967296.0); }
DEVICE double uniform53(u32 word, u32 next) {
    return ((double)(i64)((u64)word << 20 | next >> 12) + 0.5) * (1.0 / 4503599627370496.0);
}
DEVICE double uniform44(u32 word, u32 low_bits_of) {
    return ((double)(i64)((u64)word << 12 | (low_bits_of & 0xfffu)) + 0.5) * (1.0 / 17592186044416.0);
}

// Wichura (1988), AS 241, outside the central region.
RARELY double normal_tail_quantile(double u) {
    double r = sqrt(-log(fmin(u, 1.0 - u))), top, low;
    if (r <= 5.0) {
        r -= 1.6;
        top = 7.7454501427834140764e-4;
        top = top * r + 0.0227238449892691845833; top = top * r + 0.24178072517745061177;
        top = top * r + 1.27045825245236838258; top = top * r + 3.64784832476320460504;
        top = top * r + 5.7694972214606914055; top = top * r + 4.6303378461565452959;
        top = top * r + 1.42343711074968357734;
        low = 1.05075007164441684324e-9;
        low = low * r + 5.475938084995344946e-4; low = low * r + 0.0151986665636164571966;
        low = low * r + 0.14810397642748007459; low = low * r + 0.68976733498510000455;
        low = low * r + 1.6763848301838038494; low = low * r + 2.05319162663775882187;
        low = low * r + 1.0;
    } else {
        r -= 5.0;
        top = 2.01033439929228813265e-7;
        top = top * r + 2.71155556874348757815e-5; top = top * r + 0.0012426609473880784386;
        top = top * r + 0.026532189526576123093; top = top * r + 0.29656057182850489123;
        top = top * r + 1.7848265399172913358; top = top * r + 5.4637849111641143699;
        top = top * r + 6.6579046435011037772;
        low = 2.04426310338993978564e-15;
        low = low * r + 1.4215117583164458887e-7; low = low * r + 1.8463183175100546818e-5;
        low = low * r + 7.868691311456132591e-4; low = low * r + 0.0148753612908506148525;
        low = low * r + 0.1369298809227358053; low = low * r + 0.5998322065558879376937;
        low = low * r + 1.0;
    }
    return copysign(top / low, u - 0.5);
}

DEVICE double normal_quantile(double u) {
    double q = u - 0.5, r = 0.180625 - q * q;
    if (r < 0.0) return normal_tail_quantile(u);
    double top = 2509.0809287301226727;
    top = top * r + 33430.575583588128105; top = top * r + 67265.770927008700853;
    top = top * r + 45921.953931549871457; top = top * r + 13731.693765509461125;
    top = top * r + 1971.5909503065514427; top = top * r + 133.14166789178437745;
    top = top * r + 3.387132872796366608;
    double low = 5226.495278852854561;
    low = low * r + 28729.085735721942674; low = low * r + 39307.89580009271061;
    low = low * r + 21213.794301586595867; low = low * r + 5394.1960214247511077;
    low = low * r + 687.1870074920579083; low = low * r + 42.313330701600911252;
    low = low * r + 1.0;
    return q * top / low;
}

// Gamma(shape, 1) by Marsaglia and Tsang (2000); `word` is purpose and slot, `block` the first draw block.
RARELY double gamma_variate(double shape, u32 name, u32 word, u32 block, const Key &key) {
    if (!(shape > 0.0)) return 0.0;
    double raised = shape >= 1.0 ? shape : shape + 1.0, d = raised - 1.0 / 3.0, scale = 1.0 / sqrt(9.0 * d);
    while (true) {
        Words draw = philox(name, key.sweep, word, block, key.low, key.high);
        double x = normal_quantile(uniform53(draw.x, draw.y)), t = scale * x, base = 1.0 + t;
        double reject = uniform32(draw.z), x2 = x * x;
        if (base > 0.0 && (reject * 12.0 * fmin(1.0, base) > t * t * x2 ||
                           log(1.0 - reject) < 0.5 * x2 + d * (3.0 * log1p(t) - t * (3.0 + t * (3.0 + t))))) {
            double value = d * (base * base * base);
            if (shape >= 1.0) return value;
            double log_boost = log(uniform44(draw.w, draw.y)) / shape;
            return log_boost > -745.2 ? value * exp(log_boost) : 0.0;
        }
        block++;
    }
}

DEVICE double stirling_remainder(double k) {
    double r = 1.0 / k, s = r * r;
    return r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0))));
}

DEVICE bool below_poisson_mass(double height, double k, double mean) {
    if (k < 10.0) {
        double power = exp(-fmin(mean, 700.0)), factorial = 1.0;
        for (double i = 1.0; i <= k; i += 1.0) { power *= mean; factorial *= i; }
        return height * factorial <= power;
    }
    double excess = k - mean, deviance = k * log1p(excess / mean) - excess + stirling_remainder(k);
    return log(height * 2.5066282746310002 * sqrt(k)) + deviance <= 0.0;
}

// The smallest k with P(X <= k) >= u, for mean < 16.
DEVICE double poisson_inverse(double mean, double u) {
    double term = exp(-mean), below = term;
    int count = 0;
    while (u > below) {
        if (++count == 34) break;
        term *= mean * (1.0 / count);
        below += term;
    }
    if (count < 34) return count;
    // Beyond `last` the tail is below 2^-53, and a sum rounded down could stay under u for ever.
    double last = floor(14.0 + 4.0 * mean), value = 34.0;
    for (; value < last; value += 1.0) {
        term *= mean / value;
        below += term;
        if (u <= below) break;
    }
    return fmin(value, last);
}

RARELY double poisson_variate(double mean, u32 name, u32 word, const Key &key) {
    u32 block = 0;
    Words draw = philox(name, key.sweep, word, block, key.low, key.high);
    if (mean < 16.0) return poisson_inverse(mean, uniform53(draw.x, draw.y));
    // Hormann (1993), PTRS.
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b, inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    double sure = 0.9277 - 3.6224 / (b - 2.0);
    while (true) {
        double u = uniform53(draw.x, draw.y) - 0.5, v = uniform53(draw.z, draw.w), side = 0.5 - fabs(u);
        double k = floor((2.0 * a / side + b) * u + mean + 0.43);
        if (side >= 0.07 && v <= sure) return k;
        if (k >= 0.0 && (side >= 0.013 || v <= side) &&
            below_poisson_mass(v * inverse_alpha / (a / (side * side) + b), k, mean))
            return k;
        draw = philox(name, key.sweep, word, ++block, key.low, key.high);
    }
}

// Jumps of a Gamma process above a threshold, (P2) and (G4): numerics/jumps.py.
struct Envelope { double start, split, near, far, growth; };

DEVICE Envelope jump_envelope(double start) {
    double split = start + 1.0 / (1.24 + 0.75 * start), growth = exp(start);
    return {start, split, log(split / start) / growth, exp(-split) / split, growth};
}

DEVICE double propose_jump(double u, const Envelope &e) {
    double position = u * (e.near + e.far);
    if (position < e.near) return e.start * exp(position * e.growth);
    return e.split - log(1.0 - (position - e.near) / e.far);
}

DEVICE double keep_probability(double size, double ratio, const Envelope &e) {
    if (size < e.split) return exp(e.start - ratio * size);
    return exp((1.0 - ratio) * size) * e.split / size;
}
