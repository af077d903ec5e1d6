// Charts of numbers over steps, drawn by uPlot; the step is the clock of all of them.
"use strict";
(function () {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const made = [];

  function options(chart, box, onPick) {
    const names = Object.keys(chart.lines);
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule") }, font: "11px system-ui" };
    const discrete = chart.title === "action" && names.every((name) => chart.lines[name].every((one) => one === null || Number.isInteger(one)));
    const many = chart.x.length > 60;
    return {
      width: Math.max(120, box.clientWidth), height: names.length > 4 ? 190 : 140,
      // Frame 0 is after the reset, before the first step.
      scales: { x: { time: false, range: chart.xlabel === "step" ? [0, Math.max(1, chart.x[chart.x.length - 1])] : undefined } },
      legend: { show: names.length > 1, live: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      axes: [{ ...axis, label: undefined, size: 28 }, { ...axis, size: 52 }],
      series: [{ label: chart.xlabel }].concat(names.map((name, i) => ({
        label: name, stroke: colour(`--s${i % 6}`), width: 1.4, dash: i >= 6 ? [5, 3] : undefined,
        points: { show: !many, size: 4 }, spanGaps: false,
        paths: discrete ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))),
      hooks: { ready: [(plot) => {
        if (!onPick) return;
        plot.over.style.cursor = "pointer";
        plot.over.addEventListener("click", (event) => onPick(Math.round(plot.posToVal(event.offsetX, "x"))));
      }] },
    };
  }

  function draw(chart, box, onPick) {
    const entry = { chart, box, onPick, plot: null, line: null, step: undefined };
    build(entry);
    made.push(entry);
    return entry;
  }
  function build(entry) {
    if (entry.plot) entry.plot.destroy();
    const lines = Object.values(entry.chart.lines);
    entry.box.replaceChildren();  // the picture for pages without scripts
    entry.plot = new uPlot(options(entry.chart, entry.box, entry.onPick), [entry.chart.x, ...lines], entry.box);
    entry.plot.over.closest(".uplot").setAttribute("aria-hidden", "true");
    entry.line = document.createElement("div");
    entry.line.className = "now";
    entry.line.hidden = true;
    entry.plot.over.append(entry.line);
    if (entry.step !== undefined) mark(entry, entry.step);
  }
  // The line at the present step is an element of its own: the chart is not drawn again for it.
  function mark(entry, step) {
    entry.step = step;
    entry.line.hidden = false;
    entry.line.style.transform = `translateX(${entry.plot.valToPos(step, "x")}px)`;
  }

  // The value of each line at a step; of a stretch of steps, the latest that is known.
  function values(chart, step) {
    let low = 0, high = chart.x.length - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; if (chart.x[middle] <= step) low = middle; else high = middle - 1; }
    if (step < chart.x[0]) return "";
    const told = Object.entries(chart.lines).slice(0, 4).map(([name, line]) => {
      const value = line[low] === null ? "–" : String(Number(line[low].toPrecision(5)));
      return Object.keys(chart.lines).length > 1 ? `${name.replace(/^[a-z]+/, "")} ${value}` : value;
    });
    return told.join("   ");
  }

  const again = () => made.forEach(build);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(again, 150); });

  const holder = document.getElementById("player-data");
  const data = holder ? JSON.parse(holder.textContent) : { charts: [] };
  window.ludusCharts = { draw, mark, values, made, data };
  if (data.frame === undefined) {
    for (const box of document.querySelectorAll("[data-chart]")) draw(data.charts[Number(box.dataset.chart)], box);
  }
})();
