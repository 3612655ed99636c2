'use strict';
// The timeline, the roofline and the memory map, with D3's scales, axes and zoom.
function tip(selection, text) {
  const box = d3.select('#tip');
  selection.on('mousemove', (event, d) => box.style('display', 'block').text(text(d)).style('left', `${Math.min(event.clientX + 14, innerWidth - 330)}px`)
    .style('top', `${event.clientY + 14}px`)).on('mouseout', () => box.style('display', 'none'));
}
const about = p => `${p.index}  ${p.label}\n${p.nodes[0]}\n${us(p.took)} ${p.measured ? 'measured' : 'predicted'}, floor ${us(p.floor_us)}\n${p.engine}`;

// plot(ID, TITLE, HEIGHT): an empty figure in a section, and its inner size
function plot(id, title, note, wanted) {
  const section = d3.select(`#${id}`).text('');
  section.append('h2').text(title);
  section.append('p').attr('class', 'faint').text(note);
  const width = section.node().clientWidth - 32, height = wanted || Math.max(260, section.node().clientHeight - 120);
  const svg = section.append('svg').attr('viewBox', [0, 0, width, height]).style('height', `${height}px`);
  const at = {left: 80, right: 20, top: 10, bottom: 42};
  svg.append('clipPath').attr('id', `${id}-clip`).append('rect').attr('x', at.left).attr('y', 0).attr('width', width - at.left - at.right).attr('height', height);
  return {svg, width, height, ...at, inside: svg.append('g').attr('clip-path', `url(#${id}-clip)`)};
}

function axes(p, x, y, xTitle, yTitle) {
  const bottom = p.svg.append('g').attr('transform', `translate(0,${p.height - p.bottom})`), left = p.svg.append('g').attr('transform', `translate(${p.left},0)`);
  p.svg.append('text').attr('x', (p.left + p.width - p.right) / 2).attr('y', p.height - 6).attr('text-anchor', 'middle').text(xTitle);
  p.svg.append('text').attr('transform', `translate(14,${p.height / 2}) rotate(-90)`).attr('text-anchor', 'middle').text(yTitle);
  return (scale = x) => { bottom.call(d3.axisBottom(scale).ticks(Math.max(2, p.width / 110), xTitle.includes('log') ? '~g' : undefined)); left.call(y); };
}

// When each partition runs: where the run was timed as the profile says, else after its stream and its inputs.
function schedule(program) {
  const free = [];
  for (const p of program.partitions) {
    const ready = d3.max([...p.from], source => source.end) || 0;
    p.begin = p.measured && p.measured.begin_us !== undefined ? p.measured.begin_us : p.launches ? Math.max(ready, free[p.stream] || 0) : ready;
    p.end = p.begin + (!p.launches ? 0 : p.measured && p.measured.last_us !== undefined ? p.measured.last_us : p.took);
    if (p.launches) free[p.stream] = p.end;
  }
}

function drawTimeline() {
  const program = state.program, streams = d3.range(program.streams);
  schedule(program);
  const fig = plot('timeline', 'Timeline', (program.isMeasured ? 'Measured times' : 'Predicted times: a step begins when its stream is free and its inputs are written') +
    '. The wheel zooms, dragging moves.', 70 + 70 * streams.length);
  const x = d3.scaleLinear([0, d3.max(program.partitions, p => p.end) || 1], [fig.left, fig.width - fig.right]);
  const y = d3.scaleBand(streams, [fig.top, fig.height - fig.bottom]).padding(0.15);
  const axis = axes(fig, x, d3.axisLeft(y).tickFormat(s => `stream ${s}`), 'µs', '');
  const steps = program.partitions.filter(p => p.launches);
  function draw(scale) {
    const [from, to] = scale.domain();
    const seen = steps.filter(p => p.end >= from && p.begin <= to);
    const bars = fig.inside.selectAll('rect').data(seen, p => p.index).join('rect').attr('class', 'part').attr('fill', colourOf).classed('on', p => p === state.selected)
      .attr('x', p => scale(p.begin)).attr('width', p => Math.max(0.5, scale(p.end) - scale(p.begin))).attr('y', p => y(p.stream)).attr('height', y.bandwidth())
      .on('click', (event, p) => { select(p); draw(scale); });
    tip(bars, about);
    fig.inside.selectAll('text').data(seen.filter(p => scale(p.end) - scale(p.begin) > 60), p => p.index).join('text').attr('pointer-events', 'none')
      .attr('x', p => Math.max(fig.left, scale(p.begin)) + 4).attr('y', p => y(p.stream) + y.bandwidth() / 2 + 4).style('fill', p => inkOn(colourOf(p)))
      .text(p => p.label.slice(0, Math.floor((scale(p.end) - scale(p.begin)) / 8)));
    axis(scale);
  }
  const zoom = d3.zoom().scaleExtent([1, 5000]).extent([[fig.left, 0], [fig.width - fig.right, fig.height]])
    .translateExtent([[fig.left, 0], [fig.width - fig.right, fig.height]]).on('zoom', event => draw(event.transform.rescaleX(x)));
  fig.svg.call(zoom);
  draw(x);
}

function drawRoofline() {
  const program = state.program, peaks = program.peaks;
  const work = program.partitions.filter(p => p.launches && p.flops > 0 && p.bytes > 0 && p.took > 0);
  const fig = plot('roofline', 'Roofline', `${work.length} partitions that compute, ${program.isMeasured ? 'measured' : 'predicted'}; lines are the device's peaks. ` +
    'The area of a dot is its time.');
  const roofs = [['fp16', peaks.f16_flops_per_us], ['tf32', peaks.tf32_flops_per_us], ['fp32', peaks.f32_flops_per_us]].filter(r => r[1] > 0);
  const rate = p => p.flops / p.took / 1e6, intensity = p => p.flops / p.bytes;
  const top = d3.max([...roofs.map(r => r[1] / 1e6), ...work.map(rate)]) || 1;
  const x = d3.scaleLog([Math.min(0.1, d3.min(work, intensity) || 1), Math.max(2000, d3.max(work, intensity) || 1)], [fig.left, fig.width - fig.right]).nice();
  const y = d3.scaleLog([Math.min(top / 1e4, d3.min(work, rate) || 1), top * 1.5], [fig.height - fig.bottom, fig.top]).nice();
  axes(fig, x, d3.axisLeft(y).ticks(6, '~g'), 'FLOP per byte (log)', 'TFLOP/s (log)')();
  for (const [name, peak] of roofs) {
    const bend = peak / peaks.bytes_per_us, ends = x.domain();
    const points = [[ends[0], ends[0] * peaks.bytes_per_us / 1e6], [bend, peak / 1e6], [ends[1], peak / 1e6]];
    fig.inside.append('path').attr('class', 'roof').attr('d', d3.line(p => x(p[0]), p => y(Math.max(p[1], y.domain()[0])))(points));
    fig.inside.append('text').attr('x', fig.width - fig.right - 4).attr('y', y(peak / 1e6) - 5).attr('text-anchor', 'end').text(`${name} ${number(peak / 1e6)} TFLOP/s`);
  }
  const size = d3.scaleSqrt([0, d3.max(work, p => p.took) || 1], [2, 18]);
  const dots = fig.inside.selectAll('circle').data([...work].sort((a, b) => b.took - a.took)).join('circle').attr('fill', colourOf).attr('fill-opacity', 0.75)
    .attr('cx', p => x(intensity(p))).attr('cy', p => y(rate(p))).attr('r', p => size(p.took)).classed('on', p => p === state.selected)
    .on('click', (event, p) => { select(p); dots.classed('on', q => q === p); });
  tip(dots, p => `${about(p)}\n${number(rate(p))} TFLOP/s at ${number(intensity(p))} FLOP per byte`);
}

function drawMemory() {
  const memory = state.program.memory;
  const buffers = memory.buffers.filter(b => b.space === 'device');
  const live = memory.live_bytes, peak = d3.max(live) || 0;
  const fig = plot('memory', 'Arena', `${bytes(memory.arena_bytes)} of device memory, at most ${bytes(peak)} of it in use at once; weights ${bytes(memory.weight_bytes)}` +
    ' besides. Each box is a buffer: its bytes, and the launches for which it is kept. The line is the sum in use.');
  const x = d3.scaleLinear([0, Math.max(1, live.length)], [fig.left, fig.width - fig.right]);
  const y = d3.scaleLinear([0, Math.max(1, memory.arena_bytes)], [fig.height - fig.bottom, fig.top]);
  const colour = b => (b.name.startsWith('workspace of ') ? PALETTE[4] : PALETTE[d3.sum(b.name, c => c.charCodeAt(0)) % 4]);
  const axis = axes(fig, x, d3.axisLeft(y).tickFormat(bytes), 'launch', '');
  const boxes = fig.inside.selectAll('rect').data(buffers).join('rect').attr('class', 'part').attr('fill', colour).attr('fill-opacity', 0.8)
    .attr('y', b => y(b.offset + b.bytes)).attr('height', b => y(b.offset) - y(b.offset + b.bytes));
  tip(boxes, b => `${b.name}\n${bytes(b.bytes)} at ${bytes(b.offset)}\nlaunches ${b.first} to ${b.last}`);
  boxes.on('click', (event, b) => {
    const owner = state.program.partitions.find(p => p.outputs.some(o => o.value === b.name)) || state.program.ofNode.get(b.name.replace('workspace of ', ''));
    if (owner) select(owner);
  });
  const line = fig.inside.append('path').attr('class', 'live').datum(live);
  function draw(scale) {
    boxes.attr('x', b => scale(b.first)).attr('width', b => Math.max(0.5, scale(b.last + 1) - scale(b.first)));
    line.attr('d', d3.line((_, i) => scale(i), y).curve(d3.curveStepAfter));
    axis(scale);
  }
  fig.svg.call(d3.zoom().scaleExtent([1, 1000]).extent([[fig.left, 0], [fig.width - fig.right, fig.height]])
    .translateExtent([[fig.left, 0], [fig.width - fig.right, fig.height]]).on('zoom', event => draw(event.transform.rescaleX(x))));
  draw(x);
}
