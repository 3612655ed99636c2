'use strict';
// What is text: the details of what was clicked, the Format bill, versions, tabs.
function table(parent, rows) {
  const lines = parent.append('table').selectAll('tr').data(rows.filter(r => r[1] !== undefined && r[1] !== '')).join('tr');
  lines.append('th').text(r => r[0]);
  lines.append('td').text(r => r[1]);
}

function operands(panel, title, list) {
  if (!list.length) return;
  panel.append('h3').text(title);
  const rows = panel.append('ul').selectAll('li').data(list).join('li');
  rows.append('span').text(o => `${o.value} `);
  rows.append('span').attr('class', 'faint').text(o => `${o.type} ${o.format}`);
}

function link(parent, p, name) {
  parent.append('a').text(name).on('click', () => { if (p) focusOn(p); });
}

function edgeItem(list, edge) {
  const item = list.append('li');
  link(item, edge.source, edge.producer);
  item.append('span').text(` (${edge.producer_op}) → `);
  link(item, edge.target, edge.consumer);
  item.append('span').text(` (${edge.consumer_op})`);
  return item;
}

function offersAndRules(panel, edges) {
  const lost = edges.filter(e => e.offer), refused = edges.filter(e => e.refusals && e.refusals.length);
  if (lost.length) {
    panel.append('h3').text('candidates that lost');
    const list = panel.append('ul');
    for (const edge of lost) {
      const item = edgeItem(list, edge);
      const more = edge.offer.other_ops ? ` with ${edge.offer.other_ops} more ops` : '';
      item.append('div').text(`${edge.offer.engine} would hold both in ${us(edge.offer.us)}; chosen: ${us(edge.offer.chosen_us)}${more}`);
    }
  }
  if (refused.length) {
    panel.append('h3').text('why these edges are not fused');
    const list = panel.append('ul');
    for (const edge of refused) {
      const rules = edgeItem(list, edge).append('ul').selectAll('li').data(edge.refusals).join('li');
      rules.append('b').text(r => (r.engine ? `${r.engine}: ` : ''));
      rules.append('span').text(r => r.says);
      rules.append('div').attr('class', 'faint').text(r => (r.remedy ? `what would change it: ${r.remedy}` : ''));
    }
  }
}

function showEdge(edge) {
  const panel = d3.select('#details').text('');
  panel.append('h2').text(`edge ${edge.value}`);
  edgeItem(panel.append('ul'), edge);
  offersAndRules(panel, [edge]);
}

function showPartition() {
  const panel = d3.select('#details').text(''), p = state.selected;
  if (!p) {
    panel.append('p').attr('class', 'faint').text('Click a partition or an edge. A double click shows the ops of a partition. / begins a search.');
    showLongest(panel);
    return;
  }
  panel.append('h2').append('span').attr('class', 'swatch').style('background', colourOf(p));
  panel.select('h2').append('span').text(`${p.index}  ${p.label}`);
  table(panel, [
    ['engine', p.engine + (p.variant ? `, ${p.variant}` : '')], ['stream', p.launches ? p.stream : 'no launch'],
    [p.measured ? 'measured' : 'predicted', `${us(p.took)}, ${number(100 * p.took / state.program.total)} % of all`],
    ['predicted', p.measured ? us(p.us) : ''],
    ['floor', p.floor_us > 0 ? `${us(p.floor_us)} (${number(p.took / p.floor_us)} times)` : ''],
    ['work', `${number(p.flops / 1e6)} MFLOP, ${bytes(p.bytes)}`],
    ['rate', p.took > 0 ? `${number(p.bytes / p.took / 1e3)} GB/s, ${number(p.flops / p.took / 1e6)} TFLOP/s` : ''],
    ['price from', p.cost_from]]);
  if (p.nodes.length > 1) panel.append('button').text(state.expanded.has(p) ? 'hide its ops' : 'show its ops').on('click', () => toggle(p));
  panel.append('h3').text(`${p.nodes.length} op${p.nodes.length > 1 ? 's' : ''}`);
  panel.append('ul').selectAll('li').data(p.nodes).join('li').text((name, i) => `${p.ops[i]}: ${name}`);
  if ((p.lost || []).length) {
    panel.append('h3').text('other engines and formats for these ops');
    const others = panel.append('table').selectAll('tr').data(p.lost).join('tr');
    others.append('td').attr('class', 'number').text(other => us(other.us));
    others.append('td').text(other => `${other.engine} ${other.formats}`);
  }
  operands(panel, 'reads', p.inputs);
  operands(panel, 'writes', p.outputs);
  offersAndRules(panel, p.edges || []);
}

function showLongest(panel) {
  panel.append('h3').text('longest');
  const longest = [...state.program.partitions].sort((a, b) => b.took - a.took).slice(0, 15);
  const rows = panel.append('table').selectAll('tr').data(longest).join('tr');
  rows.append('td').attr('class', 'number').text(p => us(p.took));
  rows.append('td').append('a').text(p => `${p.label}: ${p.nodes[0]}`).on('click', (event, p) => focusOn(p));
}
listeners.push(showPartition);

function drawFormats() {
  const panel = d3.select('#formats').text(''), formats = state.program.formats;
  panel.append('h2').text('What Formats cost');
  const total = d3.sum(formats, f => f.us);
  panel.append('p').text(formats.length ? `${us(total)} of ${us(d3.sum(state.program.partitions, p => p.us))} predicted, ${bytes(d3.sum(formats, f => f.bytes))}`
    : 'Nothing: no layout changes, no transfers, no padding.');
  if (!formats.length) return;
  const lines = panel.append('table');
  lines.append('thead').append('tr').selectAll('th').data(['kind', 'value', 'from', 'to', 'bytes', 'time']).join('th').text(h => h);
  const rows = lines.append('tbody').selectAll('tr').data([...formats].sort((a, b) => b.us - a.us)).join('tr');
  for (const field of ['kind', 'value', 'from', 'to']) rows.append('td').text(f => f[field]);
  rows.append('td').attr('class', 'number').text(f => bytes(f.bytes));
  rows.append('td').attr('class', 'number').text(f => us(f.us));
}

function drawVersions() {
  const panel = d3.select('#versions').text('');
  panel.append('h2').text('What made this');
  table(panel, Object.entries(report.versions || {}).map(([name, value]) => [name.replace(/_/g, ' '), value]));
  panel.append('h2').text('What it ran with');
  table(panel, [['model', report.model], ['device', report.device], ['target', state.program.target], ['prices', state.program.prices],
    ['precision', report.precision], ['streams', state.program.streams], ...Object.entries(report.run || {}), ['why the model is cut after it', (state.program.cut || []).join('; ')]]);
}

const TABS = [['graph', 'Graph'], ['timeline', 'Timeline'], ['roofline', 'Roofline'], ['memory', 'Memory'], ['formats', 'Formats'], ['versions', 'Versions']];
function showTab(name) {
  state.show = name;
  d3.selectAll('section').classed('shown', function() { return this.id === name; });
  d3.selectAll('nav button').attr('aria-selected', tab => String(tab[0] === name));
  drawTab();
}

function drawTab() {
  if (state.show === 'graph') redraw();
  if (state.show === 'timeline') drawTimeline();
  if (state.show === 'roofline') drawRoofline();
  if (state.show === 'memory') drawMemory();
  if (state.show === 'formats') drawFormats();
  if (state.show === 'versions') drawVersions();
}

function showProgram(program) {
  state.program = program; state.expanded.clear();
  if (program.partitions.length && program.partitions[0].x === undefined) place(program);
  const floor = d3.sum(program.partitions, p => p.floor_us), launches = program.partitions.filter(p => p.launches).length;
  d3.select('#totals').text(`${program.target}: ${program.partitions.length} partitions, ${launches} launches, ${us(program.total)} ` +
    `${program.measuredSteps === launches ? 'measured' : program.measuredSteps ? `measured for ${program.measuredSteps}, else predicted` : 'predicted'}, floor ${us(floor)}`);
  drawGraph(); showTop(); showLegend(); select(null); drawTab();
}

function setTheme(dark) {
  document.documentElement.classList.toggle('dark', dark);
  themeColours.clear();
  redraw();
}

function start() {
  d3.select('#model').text(report.model.split('/').pop());
  document.title = `${report.model.split('/').pop()} · onnx-cudnn`;
  d3.select('#tabs').selectAll('button').data(TABS).join('button').text(t => t[1]).on('click', (event, t) => showTab(t[0]));
  d3.select('#program').on('change', function() { showProgram(programs[this.selectedIndex]); })
    .selectAll('option').data(programs).join('option').text((p, i) => p.title || i + 1);
  if (programs.length < 2) document.getElementById('program').parentNode.style.display = 'none';
  setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
  d3.select('#theme').on('click', () => setTheme(!document.documentElement.classList.contains('dark')));
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.target.matches('input')) return;
    event.preventDefault(); showTab('graph'); document.getElementById('search').focus();
  });
  window.addEventListener('resize', drawTab);
  startGraph();
  showTab('graph');
  showProgram(programs[0]);
}
start();
