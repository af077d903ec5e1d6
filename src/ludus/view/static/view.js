// What pages do besides links and forms: keys, local times, charts' focus. No page needs it.
"use strict";
(function () {
  const isTyping = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;
  const say = (text) => { const box = document.getElementById("said"); if (box) box.textContent = text; };
  window.ludus = { say, isTyping };

  // Times are in UTC in the page; readers see their own.
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  function localTimes(root) {
    for (const one of root.querySelectorAll("time[datetime]")) {
      const moment = new Date(one.dateTime);
      if (Number.isNaN(moment.getTime()) || one.title) continue;
      one.title = one.textContent + " UTC";
      one.textContent = format.format(moment);
    }
  }
  localTimes(document);
  window.ludus.localTimes = localTimes;

  for (const button of document.querySelectorAll("[data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => document.getElementById(button.dataset.open).showModal());
  }
  for (const field of document.querySelectorAll("select[data-submits]")) {
    field.addEventListener("change", () => field.form.requestSubmit());
  }
  for (const form of document.querySelectorAll("form[method=get]")) {
    // Addresses stay short: what is empty is left out.
    form.addEventListener("submit", () => {
      for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
      setTimeout(() => { for (const field of form.elements) field.disabled = false; });
    });
  }

  // Watching an episode: time runs, new steps are followed unless the reader has scrolled up.
  function tick() {
    for (const one of document.querySelectorAll("[data-since]")) {
      const seconds = Math.max(0, Math.round((Date.now() - Date.parse(one.dataset.since)) / 1000));
      one.textContent = seconds < 120 ? `for ${seconds} s` : `for ${Math.floor(seconds / 60)} min`;
    }
  }
  tick();
  if (document.querySelector("[data-since], #stream")) setInterval(tick, 1000);
  const box = document.getElementById("follow");
  if (box) {
    let last = scrollY;
    addEventListener("scroll", () => { if (scrollY < last - 40) box.checked = false; last = scrollY; }, { passive: true });
    box.addEventListener("change", () => { if (box.checked) scrollTo(0, document.body.scrollHeight); });
  }
  document.addEventListener("htmx:after:swap", () => {
    localTimes(document);
    tick();
    const steps = document.getElementById("steps");
    if (!steps || !box) return;
    if (steps.dataset.count !== String(steps.children.length)) {
      steps.dataset.count = steps.children.length;
      say(`${steps.children.length} steps`);
    }
    if (box.checked) scrollTo(0, document.body.scrollHeight);
  });
  const stream = document.getElementById("stream");
  if (stream) {
    stream.addEventListener("reload", () => location.reload());
    const end = (text) => {
      const told = document.getElementById("following");
      if (told) told.textContent = text;
      say(text);
    };
    stream.addEventListener("over", () => end("The episode is not running any more. Reload the page for its result."));
    stream.addEventListener("failed", () => end("The record could not be read any more. Reload the page to try again."));
  }

  // Moving through a list of steps, rows or calls.
  const stops = () => [...document.querySelectorAll("[data-stop]")];
  function move(by) {
    const all = stops();
    if (!all.length) return;
    const at = all.indexOf(document.activeElement.closest("[data-stop]"));
    let next = at + by;
    if (at < 0) {
      next = all.findIndex((one) => one.getBoundingClientRect().top >= 60);
      if (next < 0) next = all.length - 1;
    }
    const target = all[Math.max(0, Math.min(all.length - 1, next))];
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  }
  const follow = (rel) => { const to = document.querySelector(`a[rel=${rel}]`); if (to) to.click(); };
  function open() {
    const here = document.activeElement.closest("[data-stop]");
    if (!here) return;
    const inner = here.querySelector("details");
    const address = here.querySelector("a[href]");
    if (inner) inner.open = !inner.open; else if (address) address.click();
  }
  const actions = {
    j: () => move(1), k: () => move(-1), n: () => follow("next"), p: () => follow("prev"),
    o: open, u: () => follow("up"),
    "/": () => { const field = document.querySelector("input[type=search]"); if (field) field.focus(); },
    g: () => { const field = document.querySelector("input[name=step]"); if (field) field.focus(); },
    "?": () => document.getElementById("keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actions[event.key];
    if (action) { event.preventDefault(); action(); }
  });
})();
