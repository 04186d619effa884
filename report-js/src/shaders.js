// Programs of the graphics card. Places are in units of the plane; `centre` and `scale` turn them into the picture.

const VIEW = `#version 300 es
precision highp float;
uniform vec2 centre;
uniform vec2 scale;
vec2 shown(vec2 place) { return (place - centre) * scale; }
`;

// Nodes at a distance: soft points that add up to a density. Doubt makes a point wider and fainter, not heavier.
export const points = {
  vertex: `${VIEW}
in vec2 place;
in vec4 colour;
in vec2 trait;
uniform float size;
uniform float weight;
uniform float blur;
out vec4 tint;
void main() {
  gl_Position = vec4(shown(place), 0.0, 1.0);
  float wide = size * (1.0 + blur * trait.x);
  gl_PointSize = wide;
  tint = vec4(colour.rgb, weight * trait.y * size * size / (wide * wide));
}`,
  fragment: `#version 300 es
precision highp float;
in vec4 tint;
out vec4 result;
void main() {
  vec2 off = 2.0 * gl_PointCoord - 1.0;
  float alpha = tint.a * exp(-2.5 * dot(off, off));
  result = vec4(tint.rgb * alpha, alpha);
}`,
};

// The density as a picture: the mean colour, and an opacity that grows less and less.
export const density = {
  vertex: `#version 300 es
in vec2 corner;
uniform vec2 part;
out vec2 at;
void main() { at = (0.5 * corner + 0.5) * part; gl_Position = vec4(corner, 0.0, 1.0); }`,
  fragment: `#version 300 es
precision highp float;
uniform sampler2D sums;
uniform float most;
uniform float gain;
in vec2 at;
out vec4 result;
void main() {
  vec4 sum = texture(sums, at);
  if (sum.a < 1e-4) discard;
  float alpha = most * (1.0 - exp(-gain * sum.a));
  result = vec4(sum.rgb / sum.a * alpha, alpha);
}`,
};

// Nodes nearby: pie charts with a rim in the colour of the paper; a soft edge is doubt, a ring is a choice.
export const discs = {
  vertex: `${VIEW}
in vec2 corner;
in vec2 place;
in float radius;
in vec4 ends;
in uvec4 colours;
in uvec4 traits;
uniform float pixel;
uniform float least;
out vec2 at;
out float edge;
flat out vec4 cuts;
flat out uvec4 shades;
flat out uvec4 extra;
void main() {
  float shown_radius = max(radius, least * pixel);
  at = corner * 1.6;
  edge = pixel / shown_radius;
  cuts = ends;
  shades = colours;
  extra = traits;
  gl_Position = vec4(shown(place + at * shown_radius), 0.0, 1.0);
}`,
  fragment: `#version 300 es
precision highp float;
in vec2 at;
in float edge;
flat in vec4 cuts;
flat in uvec4 shades;
flat in uvec4 extra;
uniform vec3 palette[17];
uniform vec3 paper;
uniform vec3 ink;
out vec4 result;
void main() {
  float away = length(at);
  if (away > 1.6) discard;
  float turn = atan(at.x, at.y) / 6.283185307;
  if (turn < 0.0) turn += 1.0;
  uint shade = turn < cuts.x ? shades.x : turn < cuts.y ? shades.y : turn < cuts.z ? shades.z : turn < cuts.w ? shades.w : extra.x;
  float doubt = float(extra.y) / 255.0;
  float dim = extra.z == 1u ? 0.1 : 1.0;
  float soft = max(edge, 0.55 * doubt);
  float body = 1.0 - smoothstep(1.0 - soft, 1.0 + 0.35 * soft, away);
  float rim = (1.0 - smoothstep(1.12 - edge, 1.12 + edge, away)) * (1.0 - doubt) * (edge < 0.4 ? 0.9 : 0.0);
  vec4 colour = vec4(paper * rim, rim);
  colour = vec4(palette[shade] * body, body) + colour * (1.0 - body);
  colour *= dim;
  if (extra.z == 2u) {
    float outer = min(1.14 + 3.5 * edge, 1.55);
    float ring = smoothstep(1.1 - edge, 1.1 + edge, away) * (1.0 - smoothstep(outer - edge, outer + edge, away));
    colour = vec4(ink * ring, ring) + colour * (1.0 - ring);
  }
  result = colour;
}`,
};

// Links: straight lines of a width in pixels, with smooth edges; those that are dashed are not there yet.
export const lines = {
  vertex: `${VIEW}
in vec2 corner;
in vec4 span;
in vec4 colour;
in vec2 style;
uniform vec2 window;
out vec4 tint;
out float across;
out float along;
flat out float half_width;
flat out float dashed;
void main() {
  vec2 a = shown(span.xy) * window;
  vec2 b = shown(span.zw) * window;
  vec2 way = b - a;
  float length_ = max(length(way), 1e-6);
  way /= length_;
  half_width = 0.5 * style.x * 16.0;
  dashed = style.y;
  float reach = half_width + 1.0;
  along = corner.x > 0.0 ? length_ : 0.0;
  across = corner.y * reach;
  tint = colour;
  vec2 at = (corner.x > 0.0 ? b : a) + vec2(-way.y, way.x) * across;
  gl_Position = vec4(at / window, 0.0, 1.0);
}`,
  fragment: `#version 300 es
precision highp float;
in vec4 tint;
in float across;
in float along;
flat in float half_width;
flat in float dashed;
out vec4 result;
void main() {
  float alpha = tint.a * clamp(half_width + 0.5 - abs(across), 0.0, 1.0);
  if (dashed > 0.5 && fract(along / 9.0) > 0.55) discard;
  result = vec4(tint.rgb * alpha, alpha);
}`,
};
