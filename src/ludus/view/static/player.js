// The player of one episode: the number of the step is the clock of frames and charts.
"use strict";
(function () {
  const { draw, mark, values, made, data } = window.ludusCharts;
  const find = (id) => document.getElementById(id);
  const image = find("frame"), text = find("text-frame"), note = find("stage-note");
  const scrub = find("scrub"), where = find("where"), play = find("play"), speed = find("speed");
  const AHEAD = 24, KEPT = 64;
  let t = data.t, fps = 30, playing = false, shown = -1, wanted = 0;
  const frames = new Map();

  const moment = (step) => (step === 0 ? 2 * data.first : 2 * (data.first + step - 1) + 1);
  const address = (step) => `${data.frame}${moment(step)}?env=${data.env}&last=${moment(data.last)}&v=${data.stamp}`;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  // One frame: asked for again while the recording is still being executed up to it.
  const files = [...document.querySelectorAll("#frame-files a[href]")].map((one) => one.href);
  if (document.body.hasAttribute("data-static")) {
    data.allowed = files.length > 0;
    data.observations = data.about = "";
  }
  async function load(step) {
    if (files.length) {
      const picture = new Image();
      picture.src = files[Math.min(step, files.length - 1)];
      await picture.decode();
      return { bitmap: picture, width: picture.naturalWidth, height: picture.naturalHeight };
    }
    for (;;) {
      const answer = await fetch(address(step));
      if (answer.status === 202) {
        const told = await answer.json();
        if (note) { note.hidden = false; note.textContent = `The recording is being executed again: row ${told.reached.toLocaleString()}.`; }
        await pause(150);
        continue;
      }
      if (!answer.ok) {
        const told = await answer.json().catch(() => ({ error: `The server answered with status ${answer.status}.` }));
        throw new Error(told.error);
      }
      const difference = answer.headers.get("x-replay-difference");
      if (difference !== null) {
        const box = find("difference");
        box.textContent = `The replay differs from the recording from row ${difference} on. From there, frames are not what was recorded.`;
        box.hidden = false;
      }
      if (answer.headers.get("content-type").startsWith("image/")) {
        const bitmap = await createImageBitmap(await answer.blob());
        return { bitmap, width: bitmap.width, height: bitmap.height };
      }
      const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
      return { nodes: [...parsed.body.childNodes] };
    }
  }
  function frame(step) {
    let found = frames.get(step);
    if (!found) {
      found = load(step);
      found.catch(() => frames.delete(step));
      frames.set(step, found);
      if (frames.size > KEPT) frames.delete(frames.keys().next().value);
    }
    return found;
  }
  async function show(step) {
    if (!data.allowed || !image) return;
    const ticket = ++wanted;
    try {
      const found = await frame(step);
      if (ticket !== wanted) return;
      if (found.bitmap) {
        const { width, height } = found;
        if (image.width !== width || image.height !== height) Object.assign(image, { width, height });
        image.classList.toggle("small", width < 300);
        image.getContext("2d").drawImage(found.bitmap, 0, 0);
        image.hidden = false;
        image.setAttribute("aria-label", `Frame ${step} of ${data.last}`);
      } else {
        text.replaceChildren(...found.nodes.map((one) => one.cloneNode(true)));
        text.setAttribute("aria-label", `Frame ${step} of ${data.last}: ${text.textContent.trim().slice(0, 400)}`);
        text.hidden = false;
      }
      note.hidden = true;
      shown = step;
      find("stage").dataset.shown = String(step);
      for (let next = step + 1; next <= Math.min(step + AHEAD, data.last); next++) frame(next).catch(() => {});
    } catch (problem) {
      if (ticket !== wanted) return;
      stop();
      note.hidden = false;
      note.textContent = problem.message;
    }
  }

  function go(to, quiet) {
    t = Math.max(0, Math.min(data.last, to));
    scrub.value = String(t);
    scrub.setAttribute("aria-valuetext", `step ${t} of ${data.last}`);
    where.textContent = `step ${t} of ${data.last}`;
    for (const [i, entry] of made.entries()) {
      mark(entry, t);
      const value = document.querySelector(`[data-value="${i}"]`) || find("observed-value");
      if (value) value.textContent = values(entry.chart, t);
    }
    const state = find("state");
    if (state) {
      state.href = data.state + moment(t);
      state.download = state.download.replace(/-step-\d+/, `-step-${t}`);
    }
    const field = find("form-t");
    if (field) field.value = String(t);
    if (!quiet) address_bar();
    return show(t);
  }
  function address_bar() { history.replaceState(null, "", t ? `?t=${t}` : location.pathname); }

  function stop() {
    playing = false;
    play.setAttribute("aria-pressed", "false");
    play.textContent = "▶ Play";
    address_bar();
  }
  async function start() {
    if (playing) return;
    playing = true;
    play.setAttribute("aria-pressed", "true");
    play.textContent = "❚❚ Pause";
    if (t >= data.last) await go(0, true);
    let due = performance.now();
    while (playing && t < data.last) {
      due += 1000 / (fps * Number(speed.value));
      await Promise.all([go(t + 1, true), pause(Math.max(0, due - performance.now()))]);
      // A frame that came late moves the others; none is left out.
      due = Math.max(due, performance.now() - 100);
    }
    if (playing) stop();
  }
  const toggle = () => (playing ? stop() : start());

  for (const [i, box] of [...document.querySelectorAll("[data-chart]")].entries()) draw(data.charts[i], box, (step) => { stop(); go(step); });
  play.hidden = false;
  speed.closest("label").hidden = false;
  play.addEventListener("click", toggle);
  scrub.addEventListener("input", () => { if (playing) stop(); go(Number(scrub.value)); });
  for (const [id, by] of [["back", -1], ["forward", 1]]) {
    find(id).addEventListener("click", (event) => { event.preventDefault(); if (playing) stop(); go(t + by); });
  }
  const faster = (by) => { speed.selectedIndex = Math.max(0, Math.min(speed.options.length - 1, speed.selectedIndex + by)); };
  const keys = {
    " ": () => toggle(), ArrowLeft: (big) => { stop(); go(t - (big ? 10 : 1)); }, ArrowRight: (big) => { stop(); go(t + (big ? 10 : 1)); },
    Home: () => { stop(); go(0); }, End: () => { stop(); go(data.last); }, "+": () => faster(1), "-": () => faster(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("button, a, summary") && event.key === " ") return;
    if (window.ludus.isTyping(event.target) && (event.target !== scrub || event.key.startsWith("Arrow"))) return;
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(event.shiftKey); }
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden && playing) stop(); });

  async function observed() {
    if (!data.observations) return;
    for (;;) {
      const answer = await fetch(data.observations);
      if (answer.status === 202) { await pause(300); continue; }
      if (!answer.ok) return;
      const chart = await answer.json();
      if (!chart.title) return;
      const box = find("observed");
      box.hidden = false;
      draw(chart, box.querySelector(".chart-box"), (step) => { stop(); go(step); });
      go(t, true);
      return;
    }
  }
  go(t, true).then(async () => {
    if (!data.allowed || !data.about) return;
    const answer = await fetch(data.about);
    if (!answer.ok) return;
    const about = await answer.json();
    if (about.fps) fps = about.fps;
    await observed();
  });
})();
