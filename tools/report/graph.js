'use strict';
// The graph: partitions as boxes; those that are expanded show their ops. vis-network draws it.
let nodes = null, network = null;
const OP_ROW = 44;

function boxOf(p) {
  const colour = colourOf(p);
  return {id: `p${p.index}`, label: `${p.label}\n${p.launches ? us(p.took) : 'no launch'} · ${p.engine}`, x: p.x, y: p.yShown,
    color: {background: colour, border: colour, highlight: {background: colour, border: css('--text')}}, font: {color: inkOn(colour)}};
}

function opsOf(p) {
  const colour = colourOf(p);
  return p.nodes.map((name, i) => ({id: `p${p.index}.${i}`, label: `${p.ops[i]}\n${name.slice(-32)}`, x: p.x, y: p.yShown + i * OP_ROW,
    color: {background: css('--back'), border: colour, highlight: {background: css('--panel'), border: css('--text')}}, font: {color: css('--text')}}));
}

const inks = new Map();
function inkOn(colour) {
  if (!inks.has(colour)) inks.set(colour, d3.lab(colour).l > 62 ? '#15191e' : '#ffffff');
  return inks.get(colour);
}

const isOpen = p => state.expanded.has(p) && p.nodes.length > 1;
function idOf(p, node) {
  if (!isOpen(p)) return `p${p.index}`;
  return `p${p.index}.${Math.max(0, p.nodes.indexOf(node))}`;
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

function linksOf(program) {
  const made = [], refused = new Map();
  program.edges.forEach((edge, i) => { if (edge.source && edge.target) refused.set(`${edge.value}\n${edge.target.index}`, i); });
  const faint = css('--faint');
  for (const p of program.partitions) {
    if (isOpen(p)) for (const [a, b] of p.links) made.push({id: `i${p.index}.${a}.${b}`, from: `p${p.index}.${a}`, to: `p${p.index}.${b}`, color: colourOf(p)});
    p.reads.forEach(({source, input}, k) => {
      const at = refused.get(`${input.value}\n${p.index}`), edge = program.edges[at];
      made.push({id: `e${p.index}.${k}.${at === undefined ? '' : at}`, from: idOf(source, edge && edge.producer), to: idOf(p, edge && edge.consumer),
        color: edge && edge.offer ? css('--accent') : faint, dashes: Boolean(edge && edge.offer),
        smooth: p.depth > source.depth + 1 && Math.abs(p.x - source.x) < COLUMN / 2 ? {enabled: true, type: 'curvedCW', roundness: 0.35} : false});  // around the boxes between
    });
  }
  return made;
}

const OPTIONS = {
  physics: false, layout: {improvedLayout: false}, interaction: {hover: false, dragNodes: false, hideEdgesOnDrag: true, hideEdgesOnZoom: true, keyboard: false},
  nodes: {shape: 'box', margin: 6, borderWidth: 2, font: {size: 13, face: 'system-ui, DejaVu Sans'}, chosen: true,
    scaling: {label: {enabled: false, drawThreshold: 4}}},
  edges: {smooth: false, arrows: {to: {enabled: true, scaleFactor: 0.5}}, selectionWidth: 2},
};

function drawGraph() {
  spread(state.program);
  const boxes = state.program.partitions.flatMap(p => (isOpen(p) ? opsOf(p) : [boxOf(p)]));
  nodes = new vis.DataSet(boxes);  // a new one: changing thousands of an old one takes minutes
  const data = {nodes, edges: new vis.DataSet(linksOf(state.program))};
  if (network !== null) {
    const at = {position: network.getViewPosition(), scale: network.getScale()};
    network.setData(data);
    network.moveTo(at);
    return;
  }
  network = new vis.Network(document.getElementById('canvas'), data, OPTIONS);
  network.once('afterDrawing', showTop);
  network.on('click', clicked);
  network.on('doubleClick', event => { if (event.nodes.length) toggle(partitionOf(event.nodes[0])); });
}

const partitionOf = id => state.program.partitions[parseInt(String(id).slice(1), 10)];

function clicked(event) {
  if (event.nodes.length) {
    select(partitionOf(event.nodes[0]));
  } else if (event.edges.length) {
    const [at, , edge] = String(event.edges[0]).split('.');
    if (at[0] === 'e' && edge !== '') showEdge(state.program.edges[Number(edge)]);
  }
}

function toggle(p) {
  if (!state.expanded.delete(p)) state.expanded.add(p);
  drawGraph();
  select(p);
}

function focusOn(p) {
  showTab('graph');
  select(p);
  network.moveTo({position: {x: p.x, y: p.yShown}, scale: Math.max(0.7, network.getScale())});
}

// The first rows, readable.
function showTop() {
  const height = document.getElementById('canvas').clientHeight;
  const top = state.program.partitions[0];
  network.moveTo({position: {x: top ? top.x : 0, y: height / 2 - 60}, scale: 1});
}

function markSelected() {
  if (network === null) return;
  const p = state.selected;
  if (!p) { network.unselectAll(); return; }
  const ids = isOpen(p) ? p.nodes.map((_, i) => `p${p.index}.${i}`) : [`p${p.index}`];
  network.selectNodes(ids.filter(id => nodes.get(id)), false);
}
listeners.push(markSelected);

// Those whose text has all words; exact op or node names come first.
function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [];
  return state.program.partitions.filter(p => wanted.every(word => p.text.includes(word)));
}

function showFound(input) {
  const found = search(input.value);
  const rows = d3.select('#found').selectAll('li').data(found.slice(0, 100), p => p.index).join('li');
  rows.text('').on('mousedown', (event, p) => { focusOn(p); showFound({value: ''}); });
  rows.append('span').text(p => `${p.index}  ${p.label}`);
  rows.append('small').text(p => `${p.nodes[0]} · ${p.engine} · ${us(p.took)}`);
  if (input.value && !found.length) d3.select('#found').append('li').text('nothing found');
  document.getElementById('found').dataset.count = found.length;
  return found;
}

function showLegend() {
  const entries = state.colour === 'engine' ? [...new Set(state.program.partitions.map(p => p.engine))].map(e => [e, colourOf({engine: e})])
    : state.colour === 'stream' ? d3.range(state.program.streams).map(s => [`stream ${s}`, colourOf({stream: s})])
      : [['least', d3.interpolateYlOrRd(0.15)], [state.colour === 'time' ? 'most time' : '10 times the floor or more', d3.interpolateYlOrRd(1)]];
  const spans = d3.select('#legend').selectAll('span').data([...entries, ['dashed: one engine could hold both', null]]).join('span').text('');
  spans.filter(e => e[1]).append('i').style('background', e => e[1]);
  spans.append('span').text(e => e[0]);
}

function startGraph() {
  const input = document.getElementById('search');
  input.addEventListener('input', () => showFound(input));
  input.addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    const found = search(input.value);
    if (found.length) focusOn(found[(found.indexOf(state.selected) + 1) % found.length]);
    showFound({value: ''});
  });
  input.addEventListener('blur', () => showFound({value: ''}));
  d3.select('#fit').on('click', () => network.fit());
  d3.select('#colour').on('change', function() { state.colour = this.value; drawGraph(); showLegend(); markSelected(); });
  d3.select('#all').on('click', function() {
    if (state.expanded.size) state.expanded.clear(); else for (const p of state.program.partitions) state.expanded.add(p);
    this.textContent = state.expanded.size ? 'hide ops' : 'show ops';
    drawGraph(); markSelected();
  });
}
