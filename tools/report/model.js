'use strict';
// What is shown: the JSON of --explain and --profile, with what all views derive from it.
const report = JSON.parse(document.getElementById('data').textContent);
const PALETTE = ['#4c8bf5', '#e8833a', '#2fa36b', '#b565d9', '#8a94a3', '#d64f6b', '#1fa7b8', '#b8962e'];
const ENGINES = ['cudnn', 'gemm', 'kernel', 'host', 'view', 'custom'];
const number = d3.format(',.4~g');
const us = x => (x >= 1000 ? `${number(x / 1000)} ms` : `${number(x)} µs`);
const bytes = x => (x >= 1e9 ? `${number(x / 1e9)} GB` : x >= 1e6 ? `${number(x / 1e6)} MB` : x >= 1e3 ? `${number(x / 1e3)} kB` : `${number(x)} B`);
const themeColours = new Map();  // asking the document thousands of times takes seconds
function css(name) {
  if (!themeColours.has(name)) themeColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return themeColours.get(name);
}

// Measured times by the nodes of a step.
const measured = new Map(((report.profile || {}).steps || []).map(step => [step.nodes.join('\n'), step]));

// Partitions get: index, label, color fields, text (for the search), measured, took (µs: measured, else predicted), from and to (partitions), depth.
function prepare(program) {
  const writer = new Map(), ofNode = new Map();
  program.partitions.forEach((p, i) => {
    p.index = i;
    p.measured = measured.get(p.nodes.join('\n'));
    p.took = p.measured ? p.measured.us : p.us;
    if (p.measured) p.variant = p.measured.variant;  // the one that ran
    p.label = p.ops.length > 4 ? `${p.ops.slice(0, 3).join(' ')} … (${p.ops.length})` : p.ops.join(' ');
    p.text = [p.nodes, p.ops, p.engine, p.variant, p.outputs.map(o => o.value)].flat().join(' ').toLowerCase();
    p.from = new Set(); p.to = new Set(); p.reads = [];
    for (const o of p.outputs) writer.set(o.value, p);
    for (const name of p.nodes) ofNode.set(name, p);
  });
  for (const p of program.partitions) {
    for (const input of p.inputs) {
      const source = writer.get(input.value);
      if (!source || source === p) continue;
      p.from.add(source); source.to.add(p);
      p.reads.push({source, input});
    }
  }
  program.ofNode = ofNode;
  for (const edge of program.edges) {
    edge.source = ofNode.get(edge.producer); edge.target = ofNode.get(edge.consumer);
    for (const p of new Set([edge.source, edge.target])) if (p) (p.edges = p.edges || []).push(edge);
  }
  program.most = d3.max(program.partitions, p => p.took) || 1;
  program.total = d3.sum(program.partitions, p => p.took);
  program.measuredSteps = program.partitions.filter(p => p.measured).length;
  program.isMeasured = program.measuredSteps > 0;
  return program;
}

// Rows by depth, columns by where the inputs stand: places for thousands in milliseconds, where general layouts take minutes.
const COLUMN = 260, ROW = 90;
function place(program) {
  const rows = [];
  for (const p of program.partitions) {  // launch order is an order of the graph
    p.depth = 0;
    for (const source of p.from) p.depth = Math.max(p.depth, source.depth + 1);
    (rows[p.depth] = rows[p.depth] || []).push(p);
  }
  rows.forEach((row, y) => {
    for (const p of row) p.x = d3.mean([...p.from], source => source.x) || 0;
    row.sort((a, b) => a.x - b.x);
    const middle = d3.mean(row, p => p.x);
    for (let i = 1; i < row.length; ++i) row[i].x = Math.max(row[i].x, row[i - 1].x + COLUMN);
    const shift = d3.mean(row, p => p.x) - middle;
    for (const p of row) { p.x -= shift; p.y = y * ROW; }
  });
}

const programs = report.programs.map(prepare);
const state = {program: programs[0], selected: null, colour: 'engine', expanded: new Set(), show: 'graph'};
const listeners = [];
function changed() { for (const listener of listeners) listener(); }
function select(partition) { state.selected = partition; changed(); }

function colourOf(p) {
  if (state.colour === 'stream') return PALETTE[p.stream % PALETTE.length];
  if (state.colour === 'engine') {
    const at = ENGINES.indexOf(p.engine);
    return PALETTE[at < 0 ? PALETTE.length - 1 : at];
  }
  const heat = state.colour === 'time' ? p.took / state.program.most : p.floor_us > 0 ? Math.min(1, (p.took / p.floor_us - 1) / 9) : 0;
  return d3.interpolateYlOrRd(0.15 + 0.85 * heat);
}
