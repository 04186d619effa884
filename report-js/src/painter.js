// The picture in WebGL: a density of points, lines, pie charts. It knows places and colours, nothing of networks.
import * as shaders from "./shaders.js";

const CORNERS = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);
export const DISC_BYTES = 24;
export const LINE_BYTES = 24;

/** Red, green and blue from 0 to 1 of "#rrggbb". */
export function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function compile(gl, { vertex, fragment }) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

export class Painter {
  /** A painter on a canvas; throws where there is no WebGL 2. */
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true });
    if (!gl) throw new Error("no WebGL");
    this.gl = gl;
    // Sums of many points need more than eight bits; where a browser has no such target they are blended as they come.
    this.sums = gl.getExtension("EXT_color_buffer_float") || gl.getExtension("EXT_color_buffer_half_float");
    // Compiled while the page goes on: only to ask about a program waits for the graphics.
    this.programs = Object.fromEntries(
      Object.entries(shaders).map(([name, source]) => [name, { program: compile(gl, source), attributes: null, uniforms: {} }]),
    );
    this.corners = this.buffer(CORNERS);
    this.layers = { places: null, colours: null, discs: null, lines: null };
    this.counts = { points: 0, discs: 0, lines: 0 };
    this.target = null;
    gl.enable(gl.BLEND);
  }

  /** Throws if the graphics cannot run the programs. */
  check() {
    for (const name of Object.keys(this.programs)) this.describe(name);
  }

  /** Ask for the places of what a program reads, once; throws if it could not be compiled. */
  describe(name) {
    const { gl } = this;
    const entry = this.programs[name];
    const { program } = entry;
    if (entry.attributes) return entry;
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`${name}: ${gl.getProgramInfoLog(program)}`);
    entry.attributes = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_ATTRIBUTES); i++) {
      const found = gl.getActiveAttrib(program, i).name;
      entry.attributes[found] = gl.getAttribLocation(program, found);
    }
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const found = gl.getActiveUniform(program, i).name.replace("[0]", "");
      entry.uniforms[found] = gl.getUniformLocation(program, found);
    }
    return entry;
  }

  buffer(data, old = null) {
    const { gl } = this;
    const made = old ?? gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    return made;
  }

  /** Room for so many points, which come in parts. */
  setPoints(count) {
    this.layers.places = this.buffer(8 * count, this.layers.places);
    this.layers.colours = this.buffer(8 * count, this.layers.colours);
    this.counts.points = count;
  }

  /** Some of the points: x and y of each; or red, green, blue, unused, doubt, how much it is shown, two unused, in bytes. */
  putPoints(name, begin, data) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.layers[name]);
    gl.bufferSubData(gl.ARRAY_BUFFER, 8 * begin, data);
  }

  setDiscs(data, count) {
    this.layers.discs = this.buffer(data, this.layers.discs);
    this.counts.discs = count;
  }

  setLines(data, count) {
    this.layers.lines = this.buffer(data, this.layers.lines);
    this.counts.lines = count;
  }

  resize(width, height) {
    const { canvas } = this;
    if (canvas.width === width && canvas.height === height) return;
    canvas.width = width;
    canvas.height = height;
    this.target = null;
  }

  /** A texture of half floats as large as the canvas, to add points up in. */
  sumTarget() {
    const { gl, canvas } = this;
    if (this.target) return this.target;
    this.texture ??= gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA16F, canvas.width, canvas.height, 0, gl.RGBA, gl.HALF_FLOAT, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    this.frame ??= gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
    if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) !== gl.FRAMEBUFFER_COMPLETE) this.sums = null;
    this.target = this.frame;
    return this.target;
  }

  use(name, camera) {
    const { gl } = this;
    const entry = this.describe(name);
    gl.useProgram(entry.program);
    if (camera) {
      gl.uniform2f(entry.uniforms.centre, camera.x, camera.y);
      gl.uniform2f(entry.uniforms.scale, camera.scaleX, camera.scaleY);
    }
    return entry;
  }

  /** Connect an attribute to a buffer: `each` is 1 if it changes with every instance. */
  attribute(entry, name, { buffer, size, type, stride = 0, offset = 0, each = 0, whole = false, norm = false }) {
    const { gl } = this;
    const place = entry.attributes[name];
    if (place === undefined) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    if (whole) gl.vertexAttribIPointer(place, size, type, stride, offset);
    else gl.vertexAttribPointer(place, size, type, norm, stride, offset);
    gl.vertexAttribDivisor(place, each);
  }

  done(entry) {
    for (const place of Object.values(entry.attributes)) {
      this.gl.disableVertexAttribArray(place);
      this.gl.vertexAttribDivisor(place, 0);
    }
  }

  /** Draw everything: `look` has the colours and sizes of this frame. */
  draw(camera, look) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (look.points) this.drawPoints(camera, look.points);
    if (this.counts.lines && look.lines) this.drawLines(camera, look);
    if (this.counts.discs && look.discs) this.drawDiscs(camera, look);
  }

  /** Add points `begin` to `end` to those drawn before, or start anew at 0; a sample of all is shown as if it were all. */
  drawPoints(camera, { size, weight, blur, most, begin, end, coarse }) {
    const { gl, canvas } = this;
    if (!this.counts.points) return;
    const first = this.sums ? begin : 0;
    // Soft points need not be added up at every pixel: they are at every second or fourth, in a corner of the target.
    const grain = this.sums ? coarse : 1;
    const part = [Math.ceil(canvas.width / grain), Math.ceil(canvas.height / grain)];
    const target = this.sums ? this.sumTarget() : null;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.sums ? target : null);
    if (this.sums) {
      gl.viewport(0, 0, ...part);
      if (!first) {
        gl.enable(gl.SCISSOR_TEST);
        gl.scissor(0, 0, ...part);
        gl.clear(gl.COLOR_BUFFER_BIT);
        gl.disable(gl.SCISSOR_TEST);
      }
      gl.blendFunc(gl.ONE, gl.ONE);
    } else gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const entry = this.use("points", camera);
    const { places, colours } = this.layers;
    this.attribute(entry, "place", { buffer: places, size: 2, type: gl.FLOAT });
    this.attribute(entry, "colour", { buffer: colours, size: 4, type: gl.UNSIGNED_BYTE, stride: 8, norm: true });
    this.attribute(entry, "trait", { buffer: colours, size: 2, type: gl.UNSIGNED_BYTE, stride: 8, offset: 4, norm: true });
    gl.uniform1f(entry.uniforms.size, Math.max(size / grain, 1));
    gl.uniform1f(entry.uniforms.weight, weight);
    gl.uniform1f(entry.uniforms.blur, blur);
    if (end > first) gl.drawArrays(gl.POINTS, first, end - first);
    this.done(entry);
    if (this.sums) this.showSums(most, this.counts.points / Math.max(end, 1), part);
  }

  showSums(most, gain, part) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const entry = this.use("density");
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.uniform1i(entry.uniforms.sums, 0);
    gl.uniform1f(entry.uniforms.most, most);
    gl.uniform1f(entry.uniforms.gain, gain);
    gl.uniform2f(entry.uniforms.part, part[0] / canvas.width, part[1] / canvas.height);
    this.attribute(entry, "corner", { buffer: this.corners, size: 2, type: gl.FLOAT });
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    this.done(entry);
  }

  drawLines(camera) {
    const { gl, canvas } = this;
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const entry = this.use("lines", camera);
    const buffer = this.layers.lines;
    const each = { buffer, stride: LINE_BYTES, each: 1 };
    this.attribute(entry, "corner", { buffer: this.corners, size: 2, type: gl.FLOAT });
    this.attribute(entry, "span", { ...each, size: 4, type: gl.FLOAT });
    this.attribute(entry, "colour", { ...each, size: 4, type: gl.UNSIGNED_BYTE, offset: 16, norm: true });
    this.attribute(entry, "style", { ...each, size: 2, type: gl.UNSIGNED_BYTE, offset: 20, norm: true });
    gl.uniform2f(entry.uniforms.window, canvas.width / 2, canvas.height / 2);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.counts.lines);
    this.done(entry);
  }

  drawDiscs(camera, { palette, paper, ink, least }) {
    const { gl } = this;
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const entry = this.use("discs", camera);
    const buffer = this.layers.discs;
    const each = { buffer, stride: DISC_BYTES, each: 1 };
    this.attribute(entry, "corner", { buffer: this.corners, size: 2, type: gl.FLOAT });
    this.attribute(entry, "place", { ...each, size: 2, type: gl.FLOAT });
    this.attribute(entry, "radius", { ...each, size: 1, type: gl.FLOAT, offset: 8 });
    this.attribute(entry, "ends", { ...each, size: 4, type: gl.UNSIGNED_BYTE, offset: 12, norm: true });
    this.attribute(entry, "colours", { ...each, size: 4, type: gl.UNSIGNED_BYTE, offset: 16, whole: true });
    this.attribute(entry, "traits", { ...each, size: 4, type: gl.UNSIGNED_BYTE, offset: 20, whole: true });
    gl.uniform3fv(entry.uniforms.palette, palette);
    gl.uniform3fv(entry.uniforms.paper, paper);
    gl.uniform3fv(entry.uniforms.ink, ink);
    gl.uniform1f(entry.uniforms.pixel, 1 / camera.zoom);
    gl.uniform1f(entry.uniforms.least, least);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.counts.discs);
    this.done(entry);
  }
}
