'use strict';
// The graph on a canvas: partitions as boxes, an open one as a frame around its ops. D3 moves and zooms; only what is in view is drawn.
const BOX = {width: 216, height: 36}, OP_ROW = 44, LETTERS = 29;
let boxes = [], lines = [], view = d3.zoomIdentity;
const canvas = document.querySelector('#canvas canvas');

const short = text => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);
const isOpen = p => state.expanded.has(p) && p.nodes.length > 1;

function boxesOf(p) {
  if (!isOpen(p)) return [{p, x: p.x, y: p.yShown, title: short(p.label), note: short(`${p.launches ? us(p.took) : 'no launch'} · ${p.engine}`)}];
  return p.nodes.map((name, i) => ({p, isOp: true, x: p.x, y: p.yShown + i * OP_ROW, title: short(p.ops[i]), note: name.length > LETTERS ? `…${name.slice(1 - LETTERS)}` : name}));
}

// An open partition makes its row, and so all rows below, higher.
function spread(program) {
  const more = [];
  for (const p of program.partitions) if (isOpen(p)) more[p.depth] = Math.max(more[p.depth] || 0, (p.nodes.length - 1) * OP_ROW);
  const before = [0];
  const depth = d3.max(program.partitions, p => p.depth);
  for (let y = 0; y <= depth; ++y) before[y + 1] = before[y] + (more[y] || 0);
  for (const p of program.partitions) p.yShown = p.y + before[p.depth];
}

// Where the op `node` of a partition stands: the box itself unless it is open.
const yOf = (p, node) => p.yShown + (isOpen(p) ? Math.max(0, p.nodes.indexOf(node)) * OP_ROW : 0);

// From below one box to the top of another; `aside`: around the boxes between.
function line(x1, y1, x2, y2, aside, more) {
  const path = new Path2D(), from = [x1, y1 + BOX.height / 2], to = [x2, y2 - BOX.height / 2], side = aside ? Math.max(x1, x2) + BOX.width * 0.7 : null;
  if (aside) d3.line().curve(d3.curveBasis).context(path)([from, [side, from[1] + 14], [side, to[1] - 14], to]);
  else d3.linkVertical().context(path)({source: from, target: to});
  return {path, to, left: Math.min(x1, x2), right: Math.max(x1, x2, side || x1), top: Math.min(from[1], to[1]), bottom: Math.max(from[1], to[1]), ...more};
}

function linesOf(program) {
  const explained = new Map(), made = [];
  for (const edge of program.edges) if (edge.target) explained.set(`${edge.value}\n${edge.target.index}`, edge);
  for (const p of program.partitions) {
    if (isOpen(p)) for (const [a, b] of p.links) made.push(line(p.x, p.yShown + a * OP_ROW, p.x, p.yShown + b * OP_ROW, b > a + 1, {p}));
    for (const {source, input} of p.reads) {
      const edge = explained.get(`${input.value}\n${p.index}`);
      const aside = p.depth > source.depth + 1 && Math.abs(p.x - source.x) < BOX.width;
      made.push(line(source.x, yOf(source, edge && edge.producer), p.x, yOf(p, edge && edge.consumer), aside, {edge}));
    }
  }
  return made;
}

// After partitions were opened or closed, or another program was chosen.
function drawGraph() {
  spread(state.program);
  boxes = state.program.partitions.flatMap(boxesOf);
  lines = linesOf(state.program);
  redraw();
}

const lightness = new Map();
function inkOn(colour) {
  if (!lightness.has(colour)) lightness.set(colour, d3.lab(colour).l);
  return lightness.get(colour) > 62 ? '#15191e' : '#ffffff';
}

function drawLine(pen, l) {
  const colour = l.p ? colourOf(l.p) : css(l.edge && l.edge.offer ? '--accent' : '--faint');
  pen.strokeStyle = pen.fillStyle = colour;
  pen.setLineDash(l.edge && l.edge.offer ? [6, 4] : []);
  pen.stroke(l.path);
  if (view.k < 0.3) return;
  const [x, y] = l.to;
  pen.fill(new Path2D(`M${x},${y}l-4,-8h8z`));
}

function drawBox(pen, box) {
  const {p, x, y} = box, left = x - BOX.width / 2, top = y - BOX.height / 2, colour = colourOf(p);
  pen.fillStyle = box.isOp ? css('--back') : colour;
  pen.fillRect(left, top, BOX.width, BOX.height);
  if (box.isOp || p === state.selected) {
    pen.strokeStyle = p === state.selected ? css('--text') : colour;
    pen.lineWidth = (p === state.selected ? 3 : 1.5) / Math.min(1, view.k);
    pen.strokeRect(left, top, BOX.width, BOX.height);
  }
  if (view.k < 0.3) return;
  pen.fillStyle = box.isOp ? css('--text') : inkOn(colour);
  pen.fillText(box.title, x, y - 8, BOX.width - 8);
  pen.fillText(box.note, x, y + 9, BOX.width - 8);
}

function drawFrame(pen, p) {
  pen.fillStyle = colourOf(p);
  pen.globalAlpha = 0.3;
  pen.fillRect(p.x - BOX.width / 2 - 7, p.yShown - BOX.height / 2 - 7, BOX.width + 14, (p.nodes.length - 1) * OP_ROW + BOX.height + 14);
  pen.globalAlpha = 1;
}

function draw() {
  const ratio = devicePixelRatio, {clientWidth: width, clientHeight: height} = canvas, pen = canvas.getContext('2d');
  canvas.width = width * ratio; canvas.height = height * ratio;  // clears it, too
  pen.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  pen.font = '13px system-ui, "DejaVu Sans", sans-serif'; pen.textAlign = 'center'; pen.textBaseline = 'middle';
  const [left, top] = view.invert([0, 0]), [right, bottom] = view.invert([width, height]);
  const isSeen = b => b.x > left - BOX.width && b.x < right + BOX.width && b.y > top - BOX.height && b.y < bottom + BOX.height;
  for (const p of state.expanded) if (isOpen(p)) drawFrame(pen, p);
  pen.lineWidth = 1.2 / Math.min(1, view.k);
  for (const l of lines) if (l.right > left && l.left < right && l.bottom > top && l.top < bottom) drawLine(pen, l);
  pen.setLineDash([]);
  for (const box of boxes) if (isSeen(box)) drawBox(pen, box);
}

let frame = 0;
function redraw() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
}

const boxAt = ([x, y]) => boxes.find(b => Math.abs(b.x - x) <= BOX.width / 2 && Math.abs(b.y - y) <= BOX.height / 2);
function edgeAt([x, y]) {
  const pen = canvas.getContext('2d');
  pen.setTransform(1, 0, 0, 1, 0, 0); pen.setLineDash([]); pen.lineWidth = 10 / view.k;
  return (lines.find(l => l.edge && pen.isPointInStroke(l.path, x, y)) || {}).edge;
}

function clicked(event) {
  const at = view.invert(d3.pointer(event, canvas)), box = boxAt(at), edge = box ? null : edgeAt(at);
  if (edge) showEdge(edge); else select(box ? box.p : null);
}

function toggle(p) {
  if (!state.expanded.delete(p)) state.expanded.add(p);
  drawGraph();
  select(p);
}

const zoom = d3.zoom().on('zoom', event => { view = event.transform; redraw(); });
function moveTo(x, y, k, atY) {
  d3.select(canvas).call(zoom.transform, d3.zoomIdentity.translate(canvas.clientWidth / 2, atY).scale(k).translate(-x, -y));
}

function focusOn(p) {
  showTab('graph');
  select(p);
  moveTo(p.x, p.yShown, Math.max(0.7, view.k), canvas.clientHeight / 2);
}

// The first rows, readable.
function showTop() {
  const top = state.program.partitions[0];
  if (top) moveTo(top.x, top.yShown, 1, 60);
}

function showWhole() {
  const [left, right] = d3.extent(boxes, b => b.x), [top, bottom] = d3.extent(boxes, b => b.y);
  const k = Math.min(1, canvas.clientWidth / (right - left + 2 * BOX.width), canvas.clientHeight / (bottom - top + 2 * BOX.height));
  moveTo((left + right) / 2, (top + bottom) / 2, k, canvas.clientHeight / 2);
}

listeners.push(redraw);

// Those whose text has all words.
function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [];
  return state.program.partitions.filter(p => wanted.every(word => p.text.includes(word)));
}

function showFound(input) {
  const found = search(input.value);
  const rows = d3.select('#found').text('').selectAll('li').data(found.slice(0, 100)).join('li');
  rows.on('mousedown', (event, p) => { focusOn(p); showFound({value: ''}); });
  rows.append('span').text(p => `${p.index}  ${p.label}`);
  rows.append('small').text(p => `${p.nodes[0]} · ${p.engine} · ${us(p.took)}`);
  if (input.value && !found.length) d3.select('#found').append('li').text('nothing found');
  return found;
}

function showLegend() {
  const entries = state.colour === 'engine' ? [...new Set(state.program.partitions.map(p => p.engine))].map(e => [e, colourOf({engine: e})])
    : state.colour === 'stream' ? d3.range(state.program.streams).map(s => [`stream ${s}`, colourOf({stream: s})])
      : [['least', d3.interpolateYlOrRd(0.15)], [state.colour === 'time' ? 'most time' : '10 times the floor or more', d3.interpolateYlOrRd(1)]];
  const spans = d3.select('#legend').selectAll('span.entry').data([...entries, ['dashed: one engine could hold both', null]]).join('span').attr('class', 'entry').text('');
  spans.filter(e => e[1]).append('i').style('background', e => e[1]);
  spans.append('span').text(e => e[0]);
}

function startGraph() {
  d3.select(canvas).call(zoom).on('dblclick.zoom', null).on('click', clicked)
    .on('dblclick', event => { const box = boxAt(view.invert(d3.pointer(event, canvas))); if (box) toggle(box.p); });
  const input = document.getElementById('search');
  input.addEventListener('input', () => showFound(input));
  input.addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    const found = search(input.value);
    if (found.length) focusOn(found[(found.indexOf(state.selected) + 1) % found.length]);
    showFound({value: ''});
  });
  input.addEventListener('blur', () => showFound({value: ''}));
  d3.select('#fit').on('click', showWhole);
  d3.select('#colour').on('change', function() { state.colour = this.value; redraw(); showLegend(); });
  d3.select('#all').on('click', function() {
    if (state.expanded.size) state.expanded.clear(); else for (const p of state.program.partitions) state.expanded.add(p);
    this.textContent = state.expanded.size ? 'hide ops' : 'show ops';
    drawGraph();
  });
}
